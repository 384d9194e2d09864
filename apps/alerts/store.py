"""Every statement against the tables of alerts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.alerts.domain.flow import Letter, Told
from apps.alerts.domain.message import Kind, Message, Status, Wanted
from apps.alerts.models import Notification
from apps.core.sql import execute, query

MAX_PAGE = 200


@dataclass(frozen=True, slots=True)
class Address:
    """The key of a message: who gets it about which incident."""

    run_id: int
    incident_id: int
    recipient: str


@dataclass(frozen=True, slots=True)
class Claimed:
    """A message this worker has taken and must send or release.

    dated_ns: when it was taken first, the Date of the mail: a mail sent twice is the same mail.
    """

    address: Address
    kind: Kind
    seq: int
    tries: int
    planned_at_ns: int
    dated_ns: int
    due_at_ns: int
    urgent: bool


@dataclass(frozen=True, slots=True)
class Delivery:
    """One line of the delivery log."""

    run_id: int
    incident_id: int
    recipient: str
    kind: str
    seq: int
    status: str
    due_at_ns: int
    planned_at_ns: int
    sent_at_ns: int | None
    latency_ms: int | None
    tries: int
    error: str
    subject: str


def messages(incidents: Collection[tuple[int, int]]) -> dict[int, dict[str, list[Message]]]:
    """incident id -> recipient -> the messages there are, for (run_id, incident_id).

    Every incident has its entry. One statement, whatever their number. -- uses the primary key
    """
    found: dict[int, dict[str, list[Message]]] = {incident: {} for _, incident in incidents}
    rows = Notification.objects.filter(run_id__in={run for run, _ in incidents})
    for row in rows.filter(incident_id__in=list(found)):
        message = Message(
            Kind(row.kind), row.seq, Status(row.status), row.due_at_ns, row.urgent, row.sent_at_ns
        )
        found[row.incident_id].setdefault(row.recipient, []).append(message)
    return found


def plan(address: Address, wanted: Wanted, now_ns: int) -> bool:
    """Add a message, revive a withdrawn one, or move one; whether anything changed.

    A message that was sent or folded stays as it is, one that failed keeps its back-off, unless
    it turns from a warning into a page.
    """
    sql = """
        INSERT INTO alerts_notification AS n
          (run_id, incident_id, recipient, kind, seq, status, due_at_ns, planned_at_ns, urgent,
           claimed_until_ns, tries, subject, error)
        VALUES (%s, %s, %s, %s, %s, 'pending', %s, %s, %s, 0, 0, '', '')
        ON CONFLICT (run_id, incident_id, recipient, kind, seq) DO UPDATE SET
          status = 'pending', due_at_ns = EXCLUDED.due_at_ns, urgent = EXCLUDED.urgent,
          planned_at_ns =
            CASE n.status WHEN 'withdrawn' THEN EXCLUDED.planned_at_ns ELSE n.planned_at_ns END,
          first_tried_at_ns =
            CASE n.status WHEN 'withdrawn' THEN NULL ELSE n.first_tried_at_ns END
        WHERE n.status = 'withdrawn'
           OR (n.status = 'pending' AND EXCLUDED.urgent AND NOT n.urgent)
           OR (n.status = 'pending' AND n.tries = 0 AND n.due_at_ns <> EXCLUDED.due_at_ns)
    """
    row = (*_key(address), wanted.kind.value, wanted.seq, wanted.due_ns, now_ns, wanted.urgent)
    return bool(execute(sql, row))


def _key(address: Address) -> tuple[int, int, str]:
    return address.run_id, address.incident_id, address.recipient


def withdraw(address: Address, kind: Kind, seq: int) -> None:
    """Drop a message that is not sent yet."""
    pending = _rows(address, kind, seq).filter(status=Status.PENDING.value)
    pending.update(status=Status.WITHDRAWN.value)


def claim(now_ns: int, lease_ns: int, limit: int) -> list[Claimed]:
    """Take messages that are due, the longest due first; others skip them for `lease_ns`.

    Committed before anything is sent: a worker killed while sending leaves its claim to expire.
    -- uses ix_notification_due
    """
    sql = """
        WITH due AS MATERIALIZED (  -- in place, it could be run again and lock further rows
          SELECT run_id, incident_id, recipient, kind, seq FROM alerts_notification
          WHERE status = 'pending' AND due_at_ns <= %s AND claimed_until_ns <= %s
          ORDER BY due_at_ns, incident_id, seq LIMIT %s FOR UPDATE SKIP LOCKED
        )
        UPDATE alerts_notification AS n
        SET claimed_until_ns = %s, tries = n.tries + 1,
            first_tried_at_ns = coalesce(n.first_tried_at_ns, %s)
        FROM due
        WHERE n.run_id = due.run_id AND n.incident_id = due.incident_id
          AND n.recipient = due.recipient AND n.kind = due.kind AND n.seq = due.seq
        RETURNING n.run_id, n.incident_id, n.recipient, n.kind, n.seq, n.tries, n.planned_at_ns,
                  n.first_tried_at_ns, n.due_at_ns, n.urgent
    """
    rows = query(sql, (now_ns, now_ns, limit, now_ns + lease_ns, now_ns))
    return [_claimed(row) for row in rows]


def claim_with(
    first: Claimed, letters: Collection[Letter], now_ns: int, lease_ns: int
) -> list[Claimed]:
    """Take further messages to the same recipient, those that nobody else has taken meanwhile,
    in the order of their incidents. -- uses the primary key"""
    sql = """
        UPDATE alerts_notification AS n
        SET claimed_until_ns = %s, tries = n.tries + 1,
            first_tried_at_ns = coalesce(n.first_tried_at_ns, %s)
        FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::int[]) AS w (run, inc, kind, seq)
        WHERE n.run_id = w.run AND n.incident_id = w.inc AND n.recipient = %s
          AND n.kind = w.kind AND n.seq = w.seq
          AND n.status = 'pending' AND n.claimed_until_ns <= %s
        RETURNING n.run_id, n.incident_id, n.recipient, n.kind, n.seq, n.tries, n.planned_at_ns,
                  n.first_tried_at_ns, n.due_at_ns, n.urgent
    """
    keys = [(one.run_id, one.incident_id, one.kind.value, one.seq) for one in letters]
    columns = [list(column) for column in zip(*keys, strict=True)]
    until_ns = now_ns + lease_ns
    rows = query(sql, (until_ns, now_ns, *columns, first.address.recipient, now_ns))
    return sorted((_claimed(row) for row in rows), key=lambda c: (c.address.incident_id, c.seq))


def _claimed(row: Sequence[Any]) -> Claimed:
    run_id, incident_id, recipient, kind, *rest = row
    return Claimed(Address(run_id, incident_id, recipient), Kind(kind), *rest)


def letters(recipient: str, now_ns: int, limit: int = MAX_PAGE) -> list[Letter]:
    """What waits for one recipient and nobody has taken, the longest due first.

    -- uses ix_notification_due
    """
    rows = Notification.objects.filter(status=Status.PENDING.value, recipient=recipient)
    names = ("run_id", "incident_id", "kind", "seq", "urgent", "due_at_ns", "planned_at_ns")
    found = rows.filter(claimed_until_ns__lte=now_ns).order_by("due_at_ns").values_list(*names)
    return [
        Letter(run, incident, Kind(kind), *rest) for run, incident, kind, *rest in found[:limit]
    ]


def told(recipient: str, since_ns: int, limit: int = 1_000) -> list[Told]:
    """What one recipient was told after a time, newest first. -- uses ix_notification_told"""
    rows = Notification.objects.filter(recipient=recipient, sent_at_ns__gt=since_ns)
    found = rows.order_by("-sent_at_ns").values_list("run_id", "kind", "sent_at_ns", "status")
    return [
        Told(run, Kind(kind), told_ns or since_ns, status == Status.FOLDED.value)
        for run, kind, told_ns, status in found[:limit]
    ]


def mark_sent(claimed: Claimed, subject: str, now_ns: int) -> None:
    """The mail server has taken it."""
    _row(claimed).update(
        status=Status.SENT.value,
        sent_at_ns=now_ns,
        latency_ms=max(0, now_ns - claimed.planned_at_ns) // 1_000_000,
        subject=subject[:200],
        error="",
        claimed_until_ns=0,
    )


def mark_told_too(claimed: Claimed, subject: str, now_ns: int) -> None:
    """The mail that has just been sent said this one too."""
    _row(claimed).update(
        status=Status.FOLDED.value,
        sent_at_ns=now_ns,
        subject=subject[:200],
        error="",
        claimed_until_ns=0,
    )


def mark_folded(address: Address, seq: int, now_ns: int) -> None:
    """The closing message of this episode was said by the opening one."""
    Notification.objects.update_or_create(
        run_id=address.run_id,
        incident_id=address.incident_id,
        recipient=address.recipient,
        kind=Kind.CLOSING.value,
        seq=seq,
        defaults={
            "status": Status.FOLDED.value,
            "due_at_ns": now_ns,
            "planned_at_ns": now_ns,
            "sent_at_ns": now_ns,
        },
    )


def renew(claimed: Claimed, until_ns: int) -> None:
    """The worker is still on it."""
    _pending(claimed).update(claimed_until_ns=until_ns)


def mark_withdrawn(claimed: Claimed) -> None:
    """It lost its reason while it waited. One that somebody else has sent meanwhile stays sent."""
    _pending(claimed).update(status=Status.WITHDRAWN.value, claimed_until_ns=0)


def hold(claimed: Claimed, due_ns: int) -> None:
    """It goes out later, and nothing is wrong with that."""
    _pending(claimed).update(due_at_ns=due_ns, claimed_until_ns=0)


def put_back(claimed: Claimed, due_ns: int, error: str) -> None:
    """It could not be sent; next try at `due_ns`."""
    _pending(claimed).update(due_at_ns=due_ns, claimed_until_ns=0, error=error[:2_000])


def mark_failed(claimed: Claimed, error: str) -> None:
    """It cannot be sent and is not tried again by itself."""
    _pending(claimed).update(status=Status.FAILED.value, claimed_until_ns=0, error=error[:2_000])


def retry(address: Address, kind: Kind, seq: int, now_ns: int) -> bool:
    """A person has it tried again at once; False if it neither failed nor waits for a try.

    One that a worker is on right now stays with it.
    """
    waiting = _rows(address, kind, seq).filter(
        status__in=(Status.FAILED.value, Status.PENDING.value), claimed_until_ns__lte=now_ns
    )
    return waiting.update(status=Status.PENDING.value, due_at_ns=now_ns, planned_at_ns=now_ns) == 1


def opening_subject(address: Address) -> str:
    """The subject of the opening message this recipient got, "" before it was sent."""
    row = _rows(address, Kind.OPENING, 0).first()
    return row.subject if row else ""


def known(address: Address, kind: Kind, seq: int) -> bool:
    """Whether there is such a message, whatever became of it. -- uses the primary key"""
    return _rows(address, kind, seq).exists()


def subject_of(claimed: Claimed) -> str:
    """What a message was planned to say, of those that carry it themselves."""
    return _row(claimed).values_list("subject", flat=True).first() or ""


def deliveries(limit: int = 50, run_id: int | None = None) -> list[Delivery]:
    """The delivery log, newest first. -- uses ix_notification_newest"""
    rows = Notification.objects.order_by("-planned_at_ns")
    if run_id is not None:
        rows = rows.filter(run_id=run_id)
    names = Delivery.__slots__
    page = rows[: min(limit, MAX_PAGE)]
    return [Delivery(**{name: getattr(row, name) for name in names}) for row in page]


def _rows(address: Address, kind: Kind, seq: int) -> QuerySet[Notification]:
    return Notification.objects.filter(
        run_id=address.run_id,
        incident_id=address.incident_id,
        recipient=address.recipient,
        kind=kind.value,
        seq=seq,
    )


def _row(claimed: Claimed) -> QuerySet[Notification]:
    return _rows(claimed.address, claimed.kind, claimed.seq)


def _pending(claimed: Claimed) -> QuerySet[Notification]:
    return _row(claimed).filter(status=Status.PENDING.value)
