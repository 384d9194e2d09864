"""Who is not complaining? Used when every error in the logs points at somebody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.core.records import Evidence
from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.roots import complains


class QuietKind(StrEnum):
    """Fault classes that have no line of their own."""

    EARLY_EXIT = "early_exit_zero"
    HANG = "hang_no_error"


@dataclass(frozen=True, slots=True)
class Quiet:
    """Ranks without an error of their own, all for the same reason; one if it can be told."""

    kind: QuietKind
    ranks: tuple[RankFacts, ...]
    confidence: float
    evidence: tuple[Evidence, ...]


def quiet_ranks(facts: AttemptFacts, *, timeouts: int) -> Quiet | None:
    """The quiet ranks, or None if there is none or too little is known.

    timeouts: ranks that timed out waiting (a peer that hangs) instead of losing a connection.
    First: a rank that its agent neither signalled nor reports left with code 0. Then: the only one
    that had come further than all who complain: it takes part in every collective before it goes
    on, so it left out one that they wait in, and was gone when they lost it. Then: a rank that the
    agent had to stop although it said nothing: a hang, if peers timed out.
    """
    silent = [r for r in facts.ranks if not complains(r.events)]
    left = [r for r in silent if _left_early(facts, r)]
    if left:
        return _early_exit(left)
    ahead = _ahead(facts, silent)
    if ahead is not None and not timeouts:
        return ahead
    stuck = [r for r in silent if facts.signalled(r)] or _stuck_without_agent(facts, silent)
    if not stuck:
        return None
    return _hang(facts, stuck, timeouts)


def _left_early(facts: AttemptFacts, rank: RankFacts) -> bool:
    agent = facts.agent_of(rank)
    if agent is None or not (agent.exits or agent.signalled) or rank.last_ns is None:
        return False
    if facts.signalled(rank) or rank.pid is None:
        return False
    ended = facts.exit_of(rank)
    return ended is None or ended.code == 0


def _early_exit(left: Sequence[RankFacts]) -> Quiet:
    first = _earliest(left)
    evidence = [
        rank.note(f"{rank.place} left with code 0: its agent neither stopped it nor saw it fail")
        for rank in first
    ]
    evidence += [rank.last_line() for rank in first]
    return Quiet(QuietKind.EARLY_EXIT, tuple(first), 0.85, tuple(evidence))


def _ahead(facts: AttemptFacts, silent: Sequence[RankFacts]) -> Quiet | None:
    """The one silent rank whose last step is above that of every rank that complains."""
    quiet = {r.rank for r in silent}
    waiting = [r.last_step for r in facts.ranks if r.rank not in quiet and r.last_step is not None]
    found = [
        r
        for r in silent
        if waiting and r.last_step is not None and r.last_step > max(waiting)
        if not facts.signalled(r)
    ]
    if len(found) != 1:
        return None
    (rank,) = found
    text = f"{rank.place} came to step {rank.last_step}, the others wait behind step {max(waiting)}"
    return Quiet(QuietKind.EARLY_EXIT, (rank,), 0.6, (rank.note(text), rank.last_line()))


def _stuck_without_agent(facts: AttemptFacts, silent: Sequence[RankFacts]) -> list[RankFacts]:
    """Without an agent's report: the silent minority, if all others complain."""
    known = [r for r in silent if r.last_ns is not None]
    if any(a.exits or a.signalled for a in facts.agents) or 2 * len(known) >= len(facts.ranks):
        return []
    return known


def _hang(facts: AttemptFacts, stuck: Sequence[RankFacts], timeouts: int) -> Quiet:
    first = _earliest(stuck)
    confidence = 0.85 if timeouts else 0.5
    if not any(facts.signalled(rank) for rank in first):
        confidence -= 0.25
    evidence: list[Evidence] = []
    for rank in first:
        evidence.append(rank.note(f"{rank.place} printed no error of its own"))
        if facts.signalled(rank):
            evidence.append(rank.note(f"{rank.place} was still running: its agent had to stop it"))
        evidence.append(rank.last_line())
    return Quiet(QuietKind.HANG, tuple(first), confidence, tuple(evidence))


def _earliest(ranks: Sequence[RankFacts]) -> list[RankFacts]:
    """The ranks that stopped at the lowest step; all of them if steps do not tell."""
    steps = [r.last_step for r in ranks if r.last_step is not None]
    if not steps:
        return list(ranks)
    return [r for r in ranks if r.last_step is None or r.last_step == min(steps)]
