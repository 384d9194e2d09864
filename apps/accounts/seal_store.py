"""Every statement about the seals of the audit trail."""

from __future__ import annotations

from django.db import OperationalError, transaction
from django.db.models import Count, Max, Min, Sum

from apps.accounts.models import AuditEntry, AuditSeal
from apps.accounts.records import AuditRow, ChainState, Seal
from apps.accounts.store import audit_row
from apps.core.sql import execute

LOCK_WAIT_MS = 300
SHOWN_BROKEN = 5


def final_id() -> int | None:
    """The newest entry before which none can appear any more; None while somebody writes one.

    An entry takes its id while its transaction holds the table, so with the table to ourselves all
    ids up to the newest are there for good. Writers wait LOCK_WAIT_MS at most.
    """
    try:
        with transaction.atomic():
            execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
            execute("LOCK TABLE accounts_auditentry IN SHARE MODE")
            return AuditEntry.objects.aggregate(newest=Max("id"))["newest"] or 0
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != "55P03":  # lock_not_available
            raise
        return None


def entries(after_id: int, last_id: int, limit: int) -> list[AuditRow]:
    """Oldest first. -- uses ix_audit_newest"""
    rows = AuditEntry.objects.filter(id__gt=after_id, id__lte=last_id).order_by("id", "run_id")
    return [audit_row(row) for row in rows[:limit]]


def head() -> Seal | None:
    """The newest seal. -- uses the primary key"""
    row = AuditSeal.objects.order_by("-number").first()
    return _seal(row) if row else None


def get(number: int) -> Seal | None:
    """One seal. -- uses the primary key"""
    row = AuditSeal.objects.filter(number=number).first()
    return _seal(row) if row else None


def add(seal: Seal) -> None:
    """The next seal; nothing where another process was first."""
    AuditSeal.objects.bulk_create(
        [
            AuditSeal(
                number=seal.number,
                last_id=seal.last_id,
                rows=seal.rows,
                digest=seal.digest,
                sealed_at_ns=seal.sealed_at_ns,
                checked_at_ns=seal.sealed_at_ns,
            )
        ],
        ignore_conflicts=True,
    )


def to_check(limit: int) -> list[Seal]:
    """Those that were not checked for longest. -- uses ix_seal_checked"""
    return [_seal(row) for row in AuditSeal.objects.order_by("checked_at_ns", "number")[:limit]]


def note_check(number: int, now_ns: int, *, broken: bool) -> None:
    """What a check of one seal found."""
    AuditSeal.objects.filter(number=number).update(checked_at_ns=now_ns, broken=broken)


def state() -> ChainState:
    """How the chain stands. Cost: reads all seals, one each few minutes in which something was
    done. -- uses ix_seal_checked and ix_seal_broken"""
    counted = AuditSeal.objects.aggregate(
        seals=Count("number"), rows=Sum("rows"), checked=Min("checked_at_ns")
    )
    broken = AuditSeal.objects.filter(broken=True).order_by("number")[:SHOWN_BROKEN]
    return ChainState(
        seals=counted["seals"],
        rows=counted["rows"] or 0,
        checked_ns=counted["checked"],
        broken=tuple(map(_seal, broken)),
        head=head(),
    )


def _seal(row: AuditSeal) -> Seal:
    return Seal(row.number, row.last_id, row.rows, row.digest, row.sealed_at_ns, row.broken)
