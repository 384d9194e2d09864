"""Every statement about people's habits and mails that are about no incident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from apps.alerts.domain.message import Kind, Status
from apps.alerts.models import Habits as HabitsRow
from apps.alerts.models import Notification
from apps.alerts.store import Address
from apps.core.sql import one_at_a_time

FLAPPING = Kind.FLAPPING.value
_WEEK_NS = 7 * 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class Habits:
    """How one person wants mails. zone: IANA name, "" for UTC."""

    zone: str = ""
    digest: bool = True


def habits(recipient: str) -> Habits:
    """The habits of a recipient, the usual ones if they have not said any."""
    row = HabitsRow.objects.filter(recipient=recipient).first()
    return Habits(row.zone, row.digest) if row else Habits()


def save_habits(recipient: str, wishes: Habits) -> None:
    """The habits of a recipient from now on."""
    HabitsRow.objects.update_or_create(
        recipient=recipient, defaults={"zone": wishes.zone, "digest": wishes.digest}
    )


def lock_leaving() -> None:
    """One person leaves a rule at a time, until the end of the transaction."""
    one_at_a_time("alerts.leaving")


def readers(now_ns: int, limit: int = 1_000) -> list[str]:
    """Mail addresses that something was planned for in the last week. -- uses
    ix_notification_newest"""
    rows = Notification.objects.filter(planned_at_ns__gt=now_ns - _WEEK_NS, run_id__gt=0)
    people = rows.exclude(recipient__startswith="channel:").order_by("recipient")
    return list(people.values_list("recipient", flat=True).distinct()[:limit])


def of_reader(recipient: str, since_ns: int) -> dict[int, dict[int, set[str]]]:
    """run -> incident -> kinds of messages, of the last week for one recipient."""
    rows = Notification.objects.filter(recipient=recipient, run_id__gt=0)
    recent = rows.filter(planned_at_ns__gt=since_ns - _WEEK_NS).order_by("-planned_at_ns")
    found: dict[int, dict[int, set[str]]] = {}
    for run_id, incident_id, kind in recent.values_list("run_id", "incident_id", "kind")[:1_000]:
        found.setdefault(run_id, {}).setdefault(incident_id, set()).add(kind)
    return found


def add_digest(address: Address, day: int, now_ns: int, *, wanted: bool) -> bool:
    """The digest of a day, or the note that it has nothing to tell; False if it was there."""
    status = Status.PENDING if wanted else Status.WITHDRAWN
    _, new = Notification.objects.get_or_create(
        run_id=0,
        incident_id=0,
        recipient=address.recipient,
        kind=Kind.DIGEST.value,
        seq=day,
        defaults={"status": status.value, "due_at_ns": now_ns, "planned_at_ns": now_ns},
    )
    return new


def notify(recipients: Sequence[str], about: int, words: str, now_ns: int) -> int:
    """A short notice to some people, once a day about the same thing; how many were new."""
    day = int(datetime.fromtimestamp(now_ns / 1e9, tz=UTC).strftime("%Y%m%d"))
    rows = [
        Notification(
            run_id=0,
            incident_id=about,
            recipient=recipient,
            kind=Kind.NOTICE.value,
            seq=day,
            status=Status.PENDING.value,
            due_at_ns=now_ns,
            planned_at_ns=now_ns,
            subject=words[:200],
        )
        for recipient in recipients
    ]
    before = Notification.objects.filter(run_id=0, incident_id=about, kind=Kind.NOTICE.value)
    known = before.filter(seq=day, recipient__in=recipients).count()
    Notification.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows) - known
