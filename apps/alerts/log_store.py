"""The delivery log as pages: asked for, counted. What sends is `store`."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from apps.alerts.domain.message import Status
from apps.alerts.models import Notification
from apps.alerts.store import Delivery

MAX_PAGE = 200
_MOST_AT_ONCE = 1_000
"""Messages planned at the same nanosecond: one incident, all its recipients."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which messages. "" and None ask for nothing. incident: (run id, incident id), (0, 0) for
    digests. before_ns: planned before this time.
    tried: none that only waits until it is due."""

    status: str = ""
    recipient: str = ""
    incident: tuple[int, int] | None = None
    before_ns: int | None = None
    tried: bool = False
    limit: int = 50


@dataclass(frozen=True, slots=True)
class LogPage:
    """Newest first. next_ns: `before_ns` of the page behind this one, None if it is the last."""

    rows: list[Delivery]
    next_ns: int | None


def page(query: LogQuery) -> LogPage:
    """A page of the delivery log; messages planned together are never torn apart.

    -- uses ix_notification_newest, or the primary key for an incident
    """
    rows = _asked(query).order_by("-planned_at_ns", "recipient", "kind", "seq")
    if query.before_ns is not None:
        rows = rows.filter(planned_at_ns__lt=query.before_ns)
    limit = max(1, min(query.limit, MAX_PAGE))
    first = list(rows[: limit + 1])
    if len(first) <= limit:
        return LogPage([_delivery(row) for row in first], None)
    edge = first[limit - 1].planned_at_ns
    whole = rows.filter(planned_at_ns__gte=edge)[: limit + _MOST_AT_ONCE]
    return LogPage([_delivery(row) for row in whole], edge)


def _asked(query: LogQuery) -> QuerySet[Notification]:
    rows = Notification.objects.all()
    if query.status:
        rows = rows.filter(status=query.status)
    if query.recipient:
        rows = rows.filter(recipient=query.recipient)
    if query.tried:
        rows = rows.exclude(status=Status.PENDING.value, tries=0)
    if query.incident is not None:
        run_id, incident_id = query.incident
        rows = rows.filter(run_id=run_id, incident_id=incident_id)
    return rows


def _delivery(row: Notification) -> Delivery:
    return Delivery(**{name: getattr(row, name) for name in Delivery.__slots__})


def trouble(since_ns: int) -> tuple[int, int]:
    """(failed, tried and still waiting) messages planned since a time.

    -- uses ix_notification_newest
    """
    recent = Notification.objects.filter(planned_at_ns__gte=since_ns)
    found = recent.aggregate(
        failed=Count("seq", filter=Q(status=Status.FAILED.value)),
        waiting=Count("seq", filter=Q(status=Status.PENDING.value, tries__gt=0)),
    )
    return found["failed"], found["waiting"]
