"""The case that the first-failure rule decides: facts per rank, per agent, per node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from apps.core.records import Evidence
from apps.logs.domain.clock.skew import HostClock
from apps.logs.domain.triage.agents import AgentFacts, Exit
from apps.logs.domain.triage.roots import Event
from apps.logs.domain.triage.waits import waited_ns

MAX_QUOTED_CHARS = 400


@dataclass(frozen=True, slots=True)
class RankFacts:
    """What is known of one rank. events: after its last progress only, warning and worse.

    last_ns, last_step, last_text: of its last line; None and "" if it printed nothing. last_ns is
    on the job's clock, what its host wrote less skew_ns. progress_ns: of its newest step, likewise.
    """

    rank: int
    node: str | None
    local_rank: int | None
    pid: int | None
    events: tuple[Event, ...]
    last_ns: int | None
    last_step: int | None
    last_text: str
    skew_ns: int = 0
    progress_ns: int | None = None

    def span_of(self, event: Event) -> tuple[int, int]:
        """When what its line tells of began, and when it was told, on the job's clock.

        A timeout began when its wait did, and no wait began before the rank's newest step. A line
        without a time of its own carries that of a line before it: then the wait says how much
        later it was told at least.
        """
        waited = waited_ns(event.text)
        if not waited:
            return event.time_ns, event.time_ns
        began_ns = event.time_ns - waited
        if self.progress_ns is not None:
            began_ns = max(began_ns, self.progress_ns)
        return began_ns, max(event.time_ns, began_ns + waited)

    @property
    def place(self) -> str:
        """`rank 5 on gpu-b02`."""
        return f"rank {self.rank}" + (f" on {self.node}" if self.node else "")

    def says(self, event: Event, *, weight: int = 1) -> Evidence:
        """The event's line as evidence, with the time that its host wrote."""
        return Evidence(
            text=event.text.strip()[:MAX_QUOTED_CHARS],
            time_ns=event.own_ns,
            step=self.last_step,
            rank=self.rank,
            node=self.node,
            weight=weight,
        )

    def note(self, text: str, *, time_ns: int | None = None, weight: int = 1) -> Evidence:
        """A statement about this rank as evidence. time_ns: as its host wrote it; None: of its last
        line."""
        last_ns = None if self.last_ns is None else self.last_ns + self.skew_ns
        return Evidence(
            text=text[:MAX_QUOTED_CHARS],
            time_ns=last_ns if time_ns is None else time_ns,
            step=self.last_step,
            rank=self.rank,
            node=self.node,
            weight=weight,
        )

    def last_line(self) -> Evidence:
        """Its last line, as context."""
        text = f"last line of {self.place}: {self.last_text.strip()}"
        return replace(self.note(text), weight=0)


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """All facts of one attempt. node_events: (node, line) of the kernel or the scheduler.

    job_events: lines of a console that name no rank and may be of any process.
    world_size: processes the attempt should have; None if no rank said so.
    clocks: node -> its clock against the job's, by which all times were corrected.
    """

    ranks: tuple[RankFacts, ...]
    agents: tuple[AgentFacts, ...] = ()
    node_events: tuple[tuple[str | None, Event], ...] = ()
    job_events: tuple[Event, ...] = ()
    world_size: int | None = None
    clocks: Mapping[str, HostClock] = field(default_factory=dict)
    _by_node: dict[str | None, AgentFacts] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for agent in self.agents:
            self._by_node.setdefault(agent.node, agent)

    def agent_of(self, rank: RankFacts) -> AgentFacts | None:
        """The agent of this rank's node, or one without a node that reports on the rank."""
        own = self._by_node.get(rank.node)
        if own is not None or None not in self._by_node:
            return own
        for agent in self.agents:
            if agent.node is None and agent.exit_of(rank.rank, None, rank.pid) is not None:
                return agent
        return None

    def exit_of(self, rank: RankFacts) -> Exit | None:
        """How its agent says it ended, if it says so."""
        agent = self.agent_of(rank)
        return agent.exit_of(rank.rank, rank.local_rank, rank.pid) if agent is not None else None

    def signalled(self, rank: RankFacts) -> bool:
        """Whether its agent had to send it SIGTERM, or reports that SIGTERM ended it."""
        agent = self.agent_of(rank)
        if agent is None:
            return False
        if rank.pid is not None and rank.pid in agent.signalled:
            return True
        ended = self.exit_of(rank)
        return ended is not None and (ended.code == -15 or ended.pid in agent.signalled)
