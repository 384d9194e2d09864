"""Series that people keep on the flight deck of a run."""

from __future__ import annotations

from apps.metrics.models import Pin

EVERYBODY = ""
MAX_PINS = 12
"""Of one person on one run, and of everybody on it."""


def pins(run_id: int, person: str) -> list[tuple[str, bool]]:
    """(series, whether everybody sees it), oldest first. -- uses the primary key"""
    rows = Pin.objects.filter(run_id=run_id, person__in=(EVERYBODY, person))
    found = {row.key: row.person == EVERYBODY for row in rows.order_by("-person", "pinned_at_ns")}
    order = rows.order_by("pinned_at_ns").values_list("key", flat=True)
    return [(key, found[key]) for key in dict.fromkeys(order)]


def add_pin(run_id: int, person: str, key: str, at_ns: int) -> bool:
    """Keeps a series; False if it is kept already or there are MAX_PINS."""
    own = Pin.objects.filter(run_id=run_id, person=person)
    if own.count() >= MAX_PINS:
        return False
    made = {"pinned_at_ns": at_ns}
    return Pin.objects.get_or_create(run_id=run_id, person=person, key=key, defaults=made)[1]


def drop_pin(run_id: int, person: str, key: str) -> bool:
    """Whether it was kept."""
    gone, _ = Pin.objects.filter(run_id=run_id, person=person, key=key).delete()
    return gone > 0
