"""The run list: what each run looks like right now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from apps.accounts import store as accounts
from apps.alerts import routing
from apps.checkpoints import store as checkpoints
from apps.checkpoints.records import CheckpointInfo
from apps.core.records import Candidate
from apps.dashboard import board_order
from apps.dashboard.board_order import Place
from apps.incidents import store as incidents
from apps.incidents.domain.correlate import SCRIPT_ALERT
from apps.incidents.domain.incident import IncidentInfo, IncidentState
from apps.logs import store as logs
from apps.metrics import store as metrics
from apps.metrics.domain.glance import Glance
from apps.rollbacks import services as rollback_services
from apps.rollbacks import store as rollbacks
from apps.rollbacks.records import OrderInfo
from apps.runs import board_store
from apps.runs import store as runs
from apps.runs.domain.orphan import Care, Orphan, orphan
from apps.runs.domain.target import target_step
from apps.runs.records import AttemptInfo, RunInfo

PAGE = 50
WEIGHED = 8
"""For so many runs of a page with an incident the candidates are weighed, some 20 statements each:
an outage that hits every run must not cost a thousand. The incidents of the others show theirs."""
LAG_SAID_S = 60.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the run list. speaking: ranks heard of. good: None where none is known, or nobody
    weighed. target: steps it wants to make. orphan: why nobody seems to look after it.
    """

    run: RunInfo
    newest: AttemptInfo | None
    glance: Glance | None
    good: CheckpointInfo | Candidate | None
    speaking: int
    incident: IncidentInfo | None
    order: OrderInfo | None
    target: int | None
    orphan: Orphan | None
    goodput: float | None
    weighed: bool = True

    @property
    def attempt(self) -> int | None:
        """The newest attempt's number."""
        return self.newest.number if self.newest else None

    @property
    def last_ns(self) -> int | None:
        """Time of the newest data."""
        return self.newest.last_ns if self.newest else None

    @property
    def since_ns(self) -> int | None:
        """Since when it is in its state: silent since its last contact, else since its start; an
        attempt that has ended, since its newest data."""
        if self.newest is None or self.run.state == "no_contact":
            return self.run.contact_ns
        return self.newest.started_ns if self.run.state == "running" else self.newest.last_ns

    @property
    def world_size(self) -> int | None:
        """Ranks there should be."""
        return self.run.world_size

    @property
    def bad_hosts(self) -> list[str]:
        """Nodes that its most urgent incident suspects, the likeliest first, each once."""
        suspects = self.incident.suspects if self.incident else ()
        return list(dict.fromkeys(s.node for s in suspects if s.node))

    @property
    def owner(self) -> str:
        """Who has taken the run, else who started it, "" if nobody is known."""
        return self.run.owner or self.run.started_by

    @property
    def silent(self) -> bool:
        """Whether its silence, or our lag, is to be said."""
        return self.run.state == "no_contact" or self.run.lag_s >= LAG_SAID_S


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the list is asked for. project, owner: None for all. after: where the page before
    ended."""

    shown: str = ""
    project: str | None = None
    after: Place | None = None
    owner: str | None = None

    @property
    def wanted(self) -> board_store.Wanted:
        """Whose runs."""
        return board_store.Wanted(self.project, self.owner)


@dataclass(frozen=True, slots=True)
class Board:
    """A page of the list. counts: shown -> how many runs, of what is counted. next: where the next
    page starts, None at the end."""

    rows: Sequence[Row]
    counts: Mapping[str, int]
    next: Place | None


def open_incidents(limit: int = 50) -> list[IncidentInfo]:
    """Incidents that are not over, most urgent first."""
    query = incidents.IncidentQuery(unresolved=True, limit=limit)
    return sorted((found for _, found in incidents.list_urgent(query)), key=_most_urgent)


def _most_urgent(incident: IncidentInfo) -> tuple[bool, bool, bool, int]:
    """What nothing was done about first, pages, what a detector saw before what a script said,
    newest first."""
    mitigated = incident.state is IncidentState.MITIGATED
    return mitigated, not incident.page, incident.kind == SCRIPT_ALERT, -incident.id


def waiting_of(run_ids: Collection[int]) -> dict[int, list[IncidentInfo]]:
    """run id -> its incidents that are not over, most urgent first."""
    found: dict[int, list[IncidentInfo]] = {}
    for incident in sorted(incidents.waiting(run_ids), key=_most_urgent):
        found.setdefault(incident.run_id, []).append(incident)
    return found


@dataclass(frozen=True, slots=True)
class _Live:
    """Runs that are watched or have an open incident. levels: id -> urgency."""

    levels: Mapping[int, int]
    orphans: Mapping[int, Orphan]


def _live(wanted: board_store.Wanted, now_ns: int) -> _Live:
    ill = incidents.ill_runs()
    known = board_store.standings({*board_store.watched_ids(), *ill}, now_ns)
    found = [one for one in known if wanted.fits(one)]
    levels = {
        one.run_id: board_order.urgency(
            one.state, ill[one.run_id].page if one.run_id in ill else None
        )
        for one in found
    }
    return _Live(levels, _orphans(found, ill, now_ns))


def _orphans(
    found: Sequence[board_store.Standing], ill: Mapping[int, incidents.Ill], now_ns: int
) -> dict[int, Orphan]:
    """id -> why a run is one. Who is told of a project is asked only where it decides. Who is shut
    out looks after nothing."""
    takers = {run_id: one.owner for run_id, one in ill.items()}
    names = {"", *takers.values(), *(one.owner for one in found)}
    here = names - accounts.shut_out(names - {""})
    cares = {
        one.run_id: Care(
            state=one.state,
            owner=one.owner if one.owner in here else "",
            taken_by=taker if (taker := takers.get(one.run_id, "")) in here else "",
            started_by=one.started_by,
            told=False,
            started_ns=one.started_ns,
            last_row_ns=one.last_row_ns,
            heard_ns=one.heard_ns,
        )
        for one in found
    }
    why = {run_id: orphan(care, now_ns) for run_id, care in cares.items()}
    doubtful = {one.project for one in found if why[one.run_id] is Orphan.UNHEARD}
    told = routing.heard(doubtful) if doubtful else frozenset()
    for one in found:
        if one.project in told and why[one.run_id] is Orphan.UNHEARD:
            why[one.run_id] = None
    return {run_id: reason for run_id, reason in why.items() if reason}


def board(asked: Asked, now_ns: int) -> Board:
    """One page of the list. A fixed number of statements, and a few for a run with an incident."""
    live = _live(asked.wanted, now_ns)
    places = _places(live, asked)
    page = places[:PAGE]
    counts = {
        name: len(board_order.narrowed(live.levels, live.orphans, name))
        for name in ("attention", "running", "orphans")
    }
    following = page[-1] if len(places) > PAGE else None
    return Board(_rows([place.run_id for place in page], live.orphans), counts, following)


def _places(live: _Live, asked: Asked) -> list[Place]:
    """A page of places and one more, if there is one."""
    shown = board_order.narrowed(live.levels, live.orphans, asked.shown)
    places = board_order.ordered(shown, asked.after)[: PAGE + 1]
    if asked.shown not in ("", "ended") or len(places) > PAGE:
        return places
    before = asked.after.run_id if asked.after and _is_settled(asked.after) else None
    older = board_store.settled(before, live.levels, asked.wanted, PAGE + 1 - len(places))
    return places + [Place(board_order.SETTLED, run_id) for run_id in older]


def _is_settled(place: Place) -> bool:
    return place.urgency == board_order.SETTLED


@dataclass(frozen=True, slots=True)
class _Known:
    """What a few statements say about all runs of a page, by run id."""

    newest: Mapping[int, AttemptInfo]
    waiting: Mapping[int, Sequence[IncidentInfo]]
    orders: Mapping[int, OrderInfo]
    heard: Mapping[int, int]
    complete: Mapping[int, CheckpointInfo]
    glances: Mapping[int, Glance]
    orphans: Mapping[int, Orphan]


def _rows(ids: Sequence[int], orphans: Mapping[int, Orphan]) -> list[Row]:
    """The lines of these runs, in their order."""
    newest = runs.newest_attempts(ids)
    known = _Known(
        newest=newest,
        waiting=waiting_of(ids),
        orders=rollbacks.active_of(ids),
        heard=logs.heard({run_id: attempt.number for run_id, attempt in newest.items()}),
        complete=checkpoints.newest_complete(ids),
        glances=metrics.glances(ids),
        orphans=orphans,
    )
    found = runs.by_id(ids)
    rows = [_row(found[run_id], known) for run_id in ids if run_id in found]
    dated = [row.run.id for row in rows if _dated(row.incident)]
    return [_weighed(row, dated[:WEIGHED]) if row.run.id in dated else row for row in rows]


def _weighed(row: Row, weigh: Collection[int]) -> Row:
    """The line of a run with a dated incident: the best candidate instead of the newest complete
    checkpoint, which may hold the fault."""
    if row.run.id not in weigh or row.incident is None:
        return replace(row, good=None, weighed=False)
    return replace(row, good=_candidate(row.run.id, row.incident))


def _row(run: RunInfo, known: _Known) -> Row:
    newest = known.newest.get(run.id)
    glance = known.glances.get(run.id)
    incident = next(iter(known.waiting.get(run.id, ())), None)
    return Row(
        run=run,
        newest=newest,
        # A glance of the attempt before says nothing of this one.
        glance=glance if glance and newest and glance.attempt == newest.number else None,
        good=known.complete.get(run.id),
        speaking=known.heard.get(run.id, 0),
        incident=incident,
        order=known.orders.get(run.id),
        target=target_step(run.config),
        orphan=known.orphans.get(run.id),
        goodput=glance.goodput if glance else None,
    )


def last_good(run_id: int, incident: IncidentInfo | None) -> CheckpointInfo | Candidate | None:
    """What the run would go back to now: the best candidate of an open incident, else the newest
    complete checkpoint."""
    if _dated(incident):
        return _candidate(run_id, incident)
    return checkpoints.newest_complete([run_id]).get(run_id)


def _dated(incident: IncidentInfo | None) -> TypeGuard[IncidentInfo]:
    return incident is not None and incident.onset_step is not None


def _candidate(run_id: int, incident: IncidentInfo) -> Candidate | None:
    ranked = rollback_services.candidates(run_id, incident)
    return next((candidate for candidate in ranked if candidate.eligible), None)
