"""The ten lines that matter of a failure that printed thousands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apps.core.records import Severity
from apps.logs.domain.pattern.templates import template_id
from apps.logs.domain.triage.agents import AgentFacts, Exit
from apps.logs.domain.triage.case import MAX_QUOTED_CHARS, AttemptFacts, RankFacts
from apps.logs.domain.triage.lanes import Part, blamed_ranks
from apps.logs.domain.triage.roots import Event, Root, root_of
from apps.logs.domain.triage.spot import NOWHERE, Spot
from apps.logs.domain.triage.verdict import FirstFailurePolicy, Verdict

MAX_LINES = 10
_OF_A_BLAMED = 3
_BLAMED = 3
_COMPLAINTS = 3
_AGENTS = 2
_OF_NODES = 2
_HEAD = "Traceback ("
_PARTS = tuple(Part)


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A line and why it matters. time_ns: on the job's clock; own_ns: as its host wrote it.
    carried: it has no time of its own, and was told at time_ns at the earliest.

    spot: where the line stands; without a source it is not a line of one file, and only its time
    and its rank lead to it.
    """

    why: str
    part: Part
    text: str
    rank: int | None
    node: str | None
    time_ns: int
    own_ns: int
    spot: Spot = NOWHERE
    carried: bool = False


def key_lines(
    facts: AttemptFacts, verdict: Verdict, policy: FirstFailurePolicy | None = None
) -> tuple[KeyLine, ...]:
    """At most MAX_LINES, in order of time, each message once whatever its numbers.

    In order of what a person needs: what those to blame printed, how their processes ended, the
    first complaint of each kind elsewhere, what the launchers say, what the node says.
    """
    teller = _Teller(facts, verdict, policy or FirstFailurePolicy())
    chosen: dict[int, KeyLine] = {}
    for line in teller.all():
        if len(chosen) == MAX_LINES:
            break
        chosen.setdefault(template_id(line.text), line)
    return tuple(sorted(chosen.values(), key=_order))


def _order(line: KeyLine) -> tuple[int, int, int]:
    """By time; what began it first among lines that carry the same one."""
    return line.time_ns, _PARTS.index(line.part), -1 if line.rank is None else line.rank


class _Teller:
    """One failure; its lines, what matters most first."""

    def __init__(self, facts: AttemptFacts, verdict: Verdict, policy: FirstFailurePolicy) -> None:
        self.facts, self.verdict, self.policy = facts, verdict, policy
        self.blamed = blamed_ranks(verdict)
        self.roots = {r.rank: root for r in facts.ranks if (root := root_of(r.events)) is not None}

    def all(self) -> Iterator[KeyLine]:
        """Every line that may matter."""
        guilty = [rank for rank in self.facts.ranks if rank.rank in self.blamed][:_BLAMED]
        for rank in guilty:
            yield from self.of_blamed(rank)
        yield from self.of_nodes({rank.node for rank in guilty})
        yield from self.complaints()
        yield from self.unplaced()
        yield from self.launchers()

    def of_blamed(self, rank: RankFacts) -> Iterator[KeyLine]:
        """Its cause, what it printed next, and how it ended; its last line if it printed none."""
        root, ended = self.roots.get(rank.rank), self.facts.exit_of(rank)
        if root is not None:
            yield _line("where it began", Part.INITIATING, root.event, rank)
            for event in _after(root, rank):
                yield _line("what it printed next", Part.INITIATING, event, rank)
        elif rank.last_ns is not None:
            yield _last(rank)
        if ended is not None:
            part = Part.TEARDOWN if self.facts.signalled(rank) else Part.INITIATING
            yield _exit("how its process ended", part, ended, rank)

    def of_nodes(self, nodes: set[str | None]) -> Iterator[KeyLine]:
        """Lines of the machine near the failure."""
        start = self.verdict.onset_ns - self.policy.before_ns
        end = self.verdict.onset_ns + self.policy.after_ns
        near = [
            (node, event)
            for node, event in self.facts.node_events
            if event.fault is not None and start <= event.time_ns <= end
            if node in nodes or not self.blamed
        ]
        for node, event in near[:_OF_NODES]:
            yield _line("what the machine says", Part.INITIATING, event, None, node)

    def complaints(self) -> Iterator[KeyLine]:
        """The first complaint of each class on other ranks, the most common class first."""
        others = [r for r in self.facts.ranks if r.rank in self.roots and r.rank not in self.blamed]
        counts = Counter(self.roots[r.rank].fault.id for r in others)
        for fault, count in counts.most_common(_COMPLAINTS):
            alike = [r for r in others if self.roots[r.rank].fault.id == fault]
            first = min(alike, key=lambda r: (r.span_of(self.roots[r.rank].event)[1], r.rank))
            why = f"the first of {count:,} ranks that say so" if count > 1 else "what another says"
            yield _line(why, Part.CASCADE, self.roots[first.rank].event, first)

    def unplaced(self) -> Iterator[KeyLine]:
        """Causes in lines that name no rank, where no rank is to blame."""
        for event in self.facts.job_events if not self.blamed else ():
            if event.role in ("cause", "either"):
                yield _line("a cause that names no rank", Part.INITIATING, event, None)

    def launchers(self) -> Iterator[KeyLine]:
        """What torchrun calls root cause; shown, not believed."""
        told = [agent for agent in self.facts.agents if agent.named_root is not None]
        for agent in told[:_AGENTS]:
            ended = agent.exit_of(agent.named_root, None, None)
            if ended is not None:
                yield _summary(agent, ended)


def _after(root: Root, rank: RankFacts) -> Iterable[Event]:
    later = [
        e
        for e in rank.events
        if (e.time_ns, e.seq) > (root.event.time_ns, root.event.seq)
        and e.severity >= Severity.ERROR
        and not e.text.startswith(_HEAD)
    ]
    return sorted(later, key=lambda e: (e.time_ns, e.seq))[: _OF_A_BLAMED - 1]


def _line(
    why: str, part: Part, event: Event, rank: RankFacts | None, node: str | None = None
) -> KeyLine:
    told_ns = event.time_ns if rank is None else rank.span_of(event)[1]
    return KeyLine(
        why=why,
        part=part,
        text=event.text.strip()[:MAX_QUOTED_CHARS],
        rank=None if rank is None else rank.rank,
        node=node if rank is None else rank.node,
        time_ns=told_ns,
        own_ns=event.own_ns,
        spot=event.spot,
        carried=told_ns != event.time_ns,
    )


def _last(rank: RankFacts) -> KeyLine:
    last_ns = rank.last_ns or 0
    text = rank.last_text.strip()[:MAX_QUOTED_CHARS]
    return KeyLine(
        why="its last line: no error of its own",
        part=Part.INITIATING,
        text=text,
        rank=rank.rank,
        node=rank.node,
        time_ns=last_ns,
        own_ns=last_ns + rank.skew_ns,
    )


def _exit(why: str, part: Part, ended: Exit, rank: RankFacts) -> KeyLine:
    return KeyLine(
        why=why,
        part=part,
        text=ended.text.strip()[:MAX_QUOTED_CHARS],
        rank=rank.rank,
        node=rank.node,
        time_ns=ended.time_ns,
        own_ns=ended.own_ns,
        spot=ended.spot,
    )


def _summary(agent: AgentFacts, ended: Exit) -> KeyLine:
    where = f"torchrun on {agent.node}" if agent.node else "torchrun"
    return KeyLine(
        why=f"{where} calls rank {agent.named_root} the root cause",
        part=Part.TEARDOWN,
        text=ended.text.strip()[:MAX_QUOTED_CHARS],
        rank=agent.named_root,
        node=agent.node,
        time_ns=ended.time_ns,
        own_ns=ended.own_ns,
        spot=ended.spot,
    )
