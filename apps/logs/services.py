"""Use cases of logs: the first-failure verdict of an attempt, kept up to date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from apps.core.plain import packed
from apps.core.records import Finding
from apps.logs import reclassing, store
from apps.logs.domain.triage.assemble import Known, assemble
from apps.logs.domain.triage.case import AttemptFacts
from apps.logs.domain.triage.classify import Taxonomy
from apps.logs.domain.triage.course import course_of
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.ranks import RankState
from apps.logs.domain.triage.report import finding_of, fingerprint, recovered_finding
from apps.logs.domain.triage.settle import Action, Judged, SettlePolicy, is_due, settle
from apps.logs.domain.triage.verdict import Verdict
from apps.runs import store as runs

POLICY = SettlePolicy()


@dataclass(frozen=True, slots=True)
class _Told:
    """A verdict, and how the failure went as plain values."""

    verdict: Verdict
    course: Mapping[str, Any]


def triage(run_id: int, attempt: int, now_ns: int) -> list[Finding]:
    """The failure finding of an attempt if it is new, changed or not settled. Idempotent.

    One indexed read when nothing went wrong since. A failure is what an agent reports, or an
    error without later progress of its rank: on half of the ranks (3 at least) at once, or for
    20 s or three times the job's pace. The
    finding keeps its key and is refined while lines arrive; facts["settled"] is False until 3 s
    pass without a change. look_again_ns() says when to call again although nothing arrives. Of many
    lines whose classes have changed the stored ones count until a job has renewed them.
    """
    with transaction.atomic():
        state = store.take_triage(run_id, attempt)
        if state is None or not is_due(state, now_ns):
            return []
        states = store.rank_states(run_id, attempt)
        classes = store.taxonomy_of_run(run_id)
        known = Known(_placed(run_id, attempt, states), store.clocks(run_id, attempt))
        rows = store.event_rows(run_id, attempt, states, known.spread_ns)
        aside = reclassing.put_off(run_id, attempt, rows, classes)
        facts = assemble(rows, states, classes, replace(known, as_stored=aside)) if rows else None
        told = None if facts is None else _told(run_id, attempt, facts, classes)
        judged = Judged(
            fingerprint=fingerprint(told.verdict, told.course) if told is not None else None,
            confirmed=told is not None and told.verdict.confirmed,
            pace_ns=max((s.pace_ns for s in states if s.pace_ns is not None), default=None),
        )
        decision = settle(state, judged, now_ns=now_ns, policy=POLICY)
        by = state.taxonomy if aside else classes.label
        store.save_triage(run_id, attempt, replace(decision.state, taxonomy=by))
    if decision.action is Action.RECOVERED:
        return [recovered_finding(attempt, now_ns=now_ns)]
    if decision.action is Action.NOTHING or told is None:
        return []
    settled = decision.state.settled
    return [finding_of(told.verdict, attempt=attempt, settled=settled, course=told.course)]


def look_again_ns(run_id: int, attempt: int) -> int | None:
    """When triage must be called again although no line arrives; None if nothing is open."""
    return store.look_again_ns(run_id, attempt)


def _told(run_id: int, attempt: int, facts: AttemptFacts, classes: Taxonomy) -> _Told | None:
    verdict = first_failure(facts, classes)
    reported = any(agent.failed for agent in facts.agents)
    if verdict is None or (not reported and _ended_well(run_id, attempt)):
        return None
    return _Told(verdict, packed(course_of(facts, verdict)))


def _placed(run_id: int, attempt: int, states: list[RankState]) -> dict[tuple[str, int], int]:
    """(node, local rank) -> rank, asked for only if a process never named its rank."""
    if all(state.rank is not None for state in states):
        return {}
    return {
        (place.node or "", place.local_rank): rank
        for rank, place in runs.placements(run_id, attempt).items()
        if place.local_rank is not None
    }


def _ended_well(run_id: int, attempt: int) -> bool:
    """Whether the attempt finished by itself or was replaced by the next one."""
    attempts = {info.number: info for info in runs.attempts(run_id)}
    info = attempts.get(attempt)
    return (info is not None and info.exit_code == 0) or any(n > attempt for n in attempts)
