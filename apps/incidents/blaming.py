"""Whom incidents blame, carried over to where hosts stand: suspected, confirmed, or neither."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from apps.accounts.records import SYSTEM
from apps.core.records import FindingSeverity, NodeEvent, Suspect
from apps.incidents.domain.blaming import (
    AFTER_NS,
    BEFORE_NS,
    SUSPECT_FROM,
    HostBlame,
    confirming,
    host_blames,
)
from apps.incidents.domain.correlate import FAILURE_KINDS
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.store import blames as store
from apps.incidents.store import rows as incidents
from apps.logs import flight
from apps.logs import store as logs
from apps.nodes import hosts_store
from apps.nodes import services as hosts
from apps.nodes import store as nodes
from apps.nodes.domain.lemon import DAY_NS, WINDOW_D, log2_score
from apps.nodes.domain.standing import Act, Deed
from apps.runs import store as runs

_HANG = "hang_no_error"
WEIGHED_NS = DAY_NS
"""An event that comes later than a day after the fault confirms nothing any more."""


@dataclass(frozen=True, slots=True)
class _Named:
    """Whom an incident blames now. noted: node -> since when. gone: whom it blames no more."""

    info: IncidentInfo
    blames: tuple[HostBlame, ...]
    noted: Mapping[str, int]
    gone: frozenset[str]

    @property
    def cause(self) -> str:
        return f"incident:{self.info.id}"

    def noted_or_gone(self) -> set[str]:
        return {*self.noted, *self.gone}


def note(run_id: int, incident_ids: Collection[int], now_ns: int) -> None:
    """Writes down whom these incidents blame, and lets their hosts follow: in the caller's
    transaction, which holds the run.

    A host that is blamed for enough is suspected, once an incident; an event of the host at the
    same time confirms it. One that no incident blames any more is neither. What people said of a
    host since then stays. Nothing for an incident that waits for late lines, or is mere
    information. A fixed number of statements for an incident, and three for each host that moves.
    """
    infos = [i for i in incidents.get_many(run_id, incident_ids) if i.settled]
    named = [_save(info, now_ns) for info in infos if info.severity is not FindingSeverity.INFO]
    touched = {node for one in named for node in one.noted_or_gone()}
    if not touched:
        return
    nodes.ensure(sorted(touched))
    hosts_store.set_scores(
        {node: log2_score(found) for node, found in store.scored(touched).items()}
    )
    hosts.act_each(_deeds(named, touched, now_ns))


def weigh(now_ns: int) -> int:
    """Looks whether events that came later confirm suspicions of the last day; how many did."""
    waiting = store.unconfirmed(now_ns - WEIGHED_NS)
    if not waiting:
        return 0
    windows = {(node, at_ns - BEFORE_NS, at_ns + AFTER_NS) for _, _, node, at_ns in waiting}
    heard: dict[str, list[NodeEvent]] = {}
    for event in nodes.loud_events(sorted(windows)):
        heard.setdefault(event.node, []).append(event)
    due: dict[int, set[int]] = {}
    for run_id, incident_id, node, at_ns in waiting:
        if confirming(heard.get(node, ()), at_ns):
            due.setdefault(run_id, set()).add(incident_id)
    for run_id, ids in sorted(due.items()):
        _again(run_id, ids, now_ns)
    return sum(len(ids) for ids in due.values())


def judged(run_id: int, attempt: int, now_ns: int) -> None:
    """The flight recorder dumps of an attempt have a new verdict: its failures blame anew."""
    found = incidents.live_incidents(run_id, attempt, now_ns - DAY_NS)
    _again(run_id, [i.id for i in found if i.kind in FAILURE_KINDS], now_ns)


def _again(run_id: int, incident_ids: Collection[int], now_ns: int) -> None:
    with transaction.atomic():
        runs.lock_run(run_id)
        note(run_id, incident_ids, now_ns)


def _save(info: IncidentInfo, now_ns: int) -> _Named:
    suspects = [*info.suspects, *_of_dumps(info)]
    names = sorted({s.node for s in suspects if s.node})
    blame_of = _blame_of(info.run_id) if names else {}
    found = host_blames(suspects, blame_of, _confirmed(names, info.onset_time_ns))
    noted, gone = store.save_blames(info, found, now_ns)
    return _Named(info, found, noted, frozenset(gone))


def _confirmed(names: Sequence[str], onset_ns: int) -> Mapping[str, str]:
    if not names:
        return {}
    windows = [(name, onset_ns - BEFORE_NS, onset_ns + AFTER_NS) for name in names]
    return confirming(nodes.loud_events(windows), onset_ns)


def _of_dumps(info: IncidentInfo) -> list[Suspect]:
    """The ranks that flight recorder dumps of a failed attempt name, with their hosts."""
    said = flight.answer(info.run_id, info.attempt, None) if info.kind in FAILURE_KINDS else None
    if said is None or said.verdict is None or not said.verdict.ranks:
        return []
    placed, verdict = runs.placements(info.run_id, info.attempt), said.verdict
    sure = verdict.confidence / len(verdict.ranks)
    return [
        Suspect(rank, placed[rank].node, _HANG, sure) for rank in verdict.ranks if rank in placed
    ]


def _blame_of(run_id: int) -> Mapping[str, str]:
    """fault class -> who acts, of the classes that count for a run."""
    return {fault.id: fault.blame for fault in logs.taxonomy_of_run(run_id).classes.values()}


def _deeds(named: Sequence[_Named], touched: Collection[str], now_ns: int) -> dict[str, Deed]:
    """What becomes of each host; of two incidents the one that is surer speaks."""
    since_ns = now_ns - WINDOW_D * DAY_NS
    free = set(touched) - store.still_suspected(touched, SUSPECT_FROM, since_ns)
    deeds = {n: _withdrawn(one, now_ns) for one in named for n in one.noted_or_gone() & free}
    for wanted in (Act.SUSPECT, Act.CONFIRM):
        for one in named:
            for blame in one.blames:
                act = Act.CONFIRM if blame.confirmed_by else Act.SUSPECT
                if blame.suspected and act is wanted:
                    deeds[blame.node] = _accused(one, blame, act, now_ns)
    return deeds


def _withdrawn(one: _Named, now_ns: int) -> Deed:
    why = f"{one.info.label} blames it no more"
    return Deed(Act.WITHDRAW, now_ns, SYSTEM.name, why, cause=one.cause)


def _accused(one: _Named, blame: HostBlame, act: Act, now_ns: int) -> Deed:
    who = f"rank {blame.rank}, " if blame.rank is not None else ""
    name = blame.fault_class.replace("_", " ")
    why = f"{one.info.label} blames it: {who}{name}, confidence {blame.confidence:.2f}"
    if blame.confirmed_by:
        why = f"{why}; at the same time {blame.confirmed_by}"
    noted_ns = one.noted.get(blame.node, now_ns)
    return Deed(act, now_ns, SYSTEM.name, why, cause=one.cause, known_ns=noted_ns)
