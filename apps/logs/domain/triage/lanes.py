"""What each rank did when a job died: it began it, it followed, or it was stopped.

Few ranks get a lane each; of many, those that did the same share one, so that a page of 16,384
ranks is as long as one of eight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from apps.core.rankspans import spans
from apps.logs.domain.triage.agents import Exit
from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.roots import Root, root_of
from apps.logs.domain.triage.verdict import Verdict

MAX_LANES = 16
MAX_NODES = 3


class Part(StrEnum):
    """The part that an event has in a failure, in the words of NVIDIA's attribution taxonomy."""

    INITIATING = "initiating"
    CASCADE = "cascade"
    TEARDOWN = "teardown"


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that a lane did, from start_ns to end_ns on the job's clock. A timeout starts when
    its wait did."""

    part: Part
    what: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Lane:
    """Ranks that did the same. first: the lowest of them. ranks: in words. nodes: the first of
    node_count."""

    first: int
    ranks: str
    count: int
    nodes: tuple[str, ...]
    node_count: int
    blamed: bool
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """lanes: those to blame first, then what most did. left_out: ranks that have no room."""

    lanes: tuple[Lane, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class _Track:
    rank: RankFacts
    blamed: bool
    marks: tuple[Mark, ...]

    @property
    def sign(self) -> tuple[bool, tuple[tuple[Part, str], ...]]:
        """Alike for ranks that did the same."""
        return self.blamed, tuple((mark.part, mark.what) for mark in self.marks)


def blamed_ranks(verdict: Verdict) -> frozenset[int]:
    """The ranks that the verdict holds for the first: one, or several that it cannot tell apart."""
    most = verdict.suspects[0].confidence if verdict.suspects else 0.0
    equal = {s.rank for s in verdict.suspects if s.confidence >= most and s.rank is not None}
    alike = verdict.group if verdict.fault.role in ("cause", "either") else ()
    return frozenset({*equal, *verdict.tied, *verdict.together, *alike})


def lanes_of(facts: AttemptFacts, verdict: Verdict) -> Lanes:
    """The lanes of a failure, MAX_LANES at most. O(events)."""
    blamed = blamed_ranks(verdict)
    tracks = [_track(facts, rank, blamed=rank.rank in blamed) for rank in facts.ranks]
    grouped: dict[object, list[_Track]] = defaultdict(list)
    for track in tracks:
        grouped[track.rank.rank if len(tracks) <= MAX_LANES else track.sign].append(track)
    made = sorted((_lane(group) for group in grouped.values()), key=_order)
    left = sum(lane.count for lane in made[MAX_LANES:])
    return Lanes(tuple(made[:MAX_LANES]), left)


def _order(lane: Lane) -> tuple[bool, bool, int, int]:
    return not lane.blamed, not lane.marks, -lane.count, lane.first


def _track(facts: AttemptFacts, rank: RankFacts, *, blamed: bool) -> _Track:
    root, ended = root_of(rank.events), facts.exit_of(rank)
    marks = [*_fault(rank, root, blamed=blamed), *_end(facts, rank, ended, blamed=blamed)]
    return _Track(rank, blamed, tuple(marks))


def _fault(rank: RankFacts, root: Root | None, *, blamed: bool) -> Iterable[Mark]:
    part = Part.INITIATING if blamed else Part.CASCADE
    if root is not None:
        yield Mark(part, root.fault.title, *rank.span_of(root.event))
    elif blamed and rank.last_ns is not None:
        yield Mark(part, "its last line", rank.last_ns, rank.last_ns)


def _end(
    facts: AttemptFacts, rank: RankFacts, ended: Exit | None, *, blamed: bool
) -> Iterable[Mark]:
    """How its process ended, by its launcher."""
    agent = facts.agent_of(rank)
    if agent is not None and facts.signalled(rank):
        told_ns = agent.signalled.get(rank.pid or -1, ended.time_ns if ended else None)
        if told_ns is not None:
            yield Mark(Part.TEARDOWN, "stopped by its launcher", told_ns, told_ns)
    elif ended is not None:
        alone = blamed and not rank.events
        part = Part.INITIATING if alone else Part.TEARDOWN
        yield Mark(part, ending(ended.code), ended.time_ns, ended.time_ns)


def ending(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        return f"killed by signal {-code}"
    return f"ended with exit code {code}"


def _lane(group: Sequence[_Track]) -> Lane:
    nodes = sorted({track.rank.node for track in group if track.rank.node})
    first = group[0]
    marks = tuple(_over(at, group) for at in range(len(first.marks)))
    return Lane(
        first=min(track.rank.rank for track in group),
        ranks=spans(track.rank.rank for track in group),
        count=len(group),
        nodes=tuple(nodes[:MAX_NODES]),
        node_count=len(nodes),
        blamed=first.blamed,
        marks=marks,
    )


def _over(at: int, group: Sequence[_Track]) -> Mark:
    """One mark of all of them."""
    same = [track.marks[at] for track in group]
    return replace(
        same[0],
        start_ns=min(mark.start_ns for mark in same),
        end_ns=max(mark.end_ns for mark in same),
    )
