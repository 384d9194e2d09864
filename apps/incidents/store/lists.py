"""Incidents as lists: asked for, sorted, counted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from apps.core.records import FindingSeverity
from apps.core.words import whole
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.models import Incident
from apps.incidents.store.rows import info_of

MAX_PAGE = 200
RESOLVED_URGENCY = 5
_URGENCIES = {"open": (0, 1), "acknowledged": (2, 3), "mitigated": (4,), "resolved": (5,)}
"""state -> what `Incident.urgency` is in it."""


@dataclass(frozen=True, slots=True)
class IncidentQuery:
    """Which incidents. None, "" and False ask for nothing.

    before: only ids below this one. severity: page, warn or info. text: in the title or the cause,
    or the number of an incident ("INC-42"). unresolved: not over yet.
    unowned: nobody takes care.
    """

    run_id: int | None = None
    state: str | None = None
    limit: int = 50
    before: int | None = None
    severity: str = ""
    kind: str = ""
    owner: str = ""
    text: str = ""
    unresolved: bool = False
    unowned: bool = False


@dataclass(frozen=True, slots=True)
class Headline:
    """What is asked of an incident when many are looked at."""

    id: int
    run_id: int
    kind: str
    severity: FindingSeverity
    page: bool
    owner: str
    title: str
    opened_at_ns: int

    @property
    def label(self) -> str:
        """The name people use: INC-42."""
        return f"INC-{self.id}"


def headlines(limit: int) -> list[Headline]:
    """The newest incidents, newest first. -- uses ix_incident_id"""
    rows = Incident.objects.order_by("-id").values_list(*Headline.__slots__)[:limit]
    return [
        Headline(number, run_id, kind, FindingSeverity(severity), *rest)
        for number, run_id, kind, severity, *rest in rows
    ]


def list_incidents(query: IncidentQuery) -> list[IncidentInfo]:
    """Newest first. -- uses the primary key or ix_incident_state"""
    rows = _asked(query).order_by("-id")
    if query.before is not None:
        rows = rows.filter(id__lt=query.before)
    return [info_of(row) for row in rows[: max(0, min(query.limit, MAX_PAGE))]]


def list_urgent(
    query: IncidentQuery, after: tuple[int, int] | None = None
) -> list[tuple[int, IncidentInfo]]:
    """(urgency, incident), most urgent first: open before acknowledged before mitigated before
    resolved, pages before warnings, then newest. after: only behind this (urgency, id).

    -- uses ix_incident_urgency
    """
    rows = _asked(query).order_by("urgency", "-id")
    if after is not None:
        urgency, last = after
        rows = rows.filter(
            Q(urgency__gt=urgency) | Q(urgency=urgency, id__lt=last), urgency__gte=urgency
        )
    return [(row.urgency, info_of(row)) for row in rows[: max(0, min(query.limit, MAX_PAGE))]]


def _asked(query: IncidentQuery) -> QuerySet[Incident]:
    rows = Incident.objects.all()
    if query.run_id is not None:
        rows = rows.filter(run_id=query.run_id)
    if query.state is not None:
        # The urgency too: it is what the list is sorted by, so that the index bounds the search.
        rows = rows.filter(state=query.state, urgency__in=_URGENCIES.get(query.state, ()))
    if query.unresolved:
        rows = rows.filter(urgency__lt=RESOLVED_URGENCY)
    if query.unowned:
        rows = rows.filter(owner="")
    for name in ("severity", "kind", "owner"):
        if getattr(query, name):
            rows = rows.filter(**{name: getattr(query, name)})
    return rows.filter(_spoken_of(query.text)) if query.text else rows


def _spoken_of(text: str) -> Q:
    """In the title or the cause; a number, or INC-42, is that incident."""
    named = whole(text.upper().removeprefix("INC-"))
    said = Q(title__icontains=text) | Q(cause_hint__icontains=text)
    return said | Q(id=named) if named is not None else said


def of_runs(run_ids: Collection[int], limit: int = 300) -> list[IncidentInfo]:
    """The newest incidents of these runs. -- uses ix_incident_attempt or ix_incident_id"""
    rows = Incident.objects.filter(run_id__in=list(run_ids)).order_by("-id")
    return [info_of(row) for row in rows[:limit]]


@dataclass(frozen=True, slots=True)
class Ill:
    """What the incidents of a run that are not over say of it. owner: of its most urgent one."""

    page: bool
    owner: str


def ill_runs(limit: int = 2_000) -> dict[int, Ill]:
    """run id -> what its unresolved incidents say, by the most urgent `limit` incidents.

    -- uses ix_incident_urgency
    """
    rows = Incident.objects.filter(urgency__lt=RESOLVED_URGENCY).order_by("urgency", "-id")
    found: dict[int, Ill] = {}
    for run_id, page, owner in rows.values_list("run_id", "page", "owner")[:limit]:
        known = found.get(run_id)
        found[run_id] = Ill(known.page or page, known.owner) if known else Ill(page, owner)
    return found


def silenced(now_ns: int, limit: int = 50) -> list[IncidentInfo]:
    """Incidents that are not over and send nothing now, the first to be heard again first.

    -- uses ix_incident_urgency
    """
    rows = Incident.objects.filter(urgency__lt=RESOLVED_URGENCY, silenced_until_ns__gt=now_ns)
    return [info_of(row) for row in rows.order_by("silenced_until_ns", "-id")[:limit]]


def counts() -> dict[str, int]:
    """state -> how many incidents, of the states that are not over. -- uses ix_incident_urgency"""
    rows = Incident.objects.filter(urgency__lt=RESOLVED_URGENCY).values_list("urgency")
    found = dict(rows.annotate(Count("id")).order_by("urgency"))
    waiting = {state: us for state, us in _URGENCIES.items() if RESOLVED_URGENCY not in us}
    return {state: sum(found.get(u, 0) for u in us) for state, us in waiting.items()}


def opened_since(run_id: int, kind: str, since_ns: int) -> int:
    """How many incidents of a kind were opened on a run after a time. -- uses ix_incident_attempt
    or the primary key"""
    rows = Incident.objects.filter(run_id=run_id, kind=kind, opened_at_ns__gt=since_ns)
    return rows.count()
