"""From stored lines and rank states to the case that the first-failure rule decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apps.logs.domain.clock.skew import HostClock
from apps.logs.domain.reading.lines import CONSOLE, TEE
from apps.logs.domain.triage.agents import AgentFacts, AgentLine, read_agent
from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.classify import Taxonomy
from apps.logs.domain.triage.faultclass import FaultClass
from apps.logs.domain.triage.named import Speakers
from apps.logs.domain.triage.placing import Blocks, blocks_of
from apps.logs.domain.triage.ranks import RankState, slot_of
from apps.logs.domain.triage.roots import Event
from apps.logs.domain.triage.spot import Spot

SKEW_NS = 10 * 1_000_000_000
MAX_EVENTS = 200


@dataclass(frozen=True, slots=True)
class EventRow:
    """A stored line of warning or worse; of a traceback its first and last line only.

    node: "" if unknown. message: without prefixes. fault: id of its class; taxonomy: which version
    said so, "" if none did yet.
    """

    time_ns: int
    node: str
    source: str
    channel: str
    seq: int
    local_rank: int | None
    rank: int | None
    severity: int
    message: str
    fault: str | None = None
    taxonomy: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the lines. placed: (node, local rank) -> rank, for processes that never
    named their rank. clocks: of the hosts that print synchronous steps. as_stored: lines have the
    classes that are stored with them, whichever version gave these."""

    placed: Mapping[tuple[str, int], int] = field(default_factory=dict)
    clocks: Sequence[HostClock] = ()
    as_stored: bool = False

    @property
    def skews(self) -> dict[str, int]:
        """node -> how far its clock is ahead, where that is known."""
        return {c.node: c.skew_ns for c in self.clocks if c.skew_ns is not None}

    @property
    def spread_ns(self) -> int:
        """How far two of the clocks are apart at most."""
        skews = [0, *self.skews.values()]
        return max(skews) - min(skews)


NOTHING_KNOWN = Known()


def assemble(
    rows: Sequence[EventRow],
    states: Iterable[RankState],
    taxonomy: Taxonomy,
    known: Known = NOTHING_KNOWN,
) -> AttemptFacts:
    """The case, all times on the job's clock: less the skew of the host that wrote them.

    Console copies count only on nodes that sent no rank files. A line that was followed by a step
    of its rank is left out: that rank recovered. For ranks that print no steps the job's last
    step counts, less ten seconds for clocks that differ.
    """
    skews = known.skews  # made anew at each look: O(hosts)
    builder = _Builder([_on_job_clock(state, skews) for state in states], known)
    builder.take(rows, taxonomy)
    return builder.facts()


def _on_job_clock(state: RankState, skews: Mapping[str, int]) -> RankState:
    """A copy with corrected times."""
    skew_ns = skews.get(state.node, 0)
    last_ns, progress_ns = state.last_ns, state.progress_ns
    return replace(
        state,
        last_ns=None if last_ns is None else last_ns - skew_ns,
        progress_ns=None if progress_ns is None else progress_ns - skew_ns,
    )


class _Builder:
    def __init__(self, states: list[RankState], known: Known) -> None:
        self.states = states
        self.clocks, self.skews = known.clocks, known.skews
        self.as_stored = known.as_stored
        for state in states:
            if state.rank is None and state.local_rank is not None:
                state.rank = known.placed.get((state.node, state.local_rank))
        self.by_slot = {(s.node, s.slot): s for s in states}
        self.by_rank = {(s.node, s.rank): s for s in states if s.rank is not None}
        self.with_files = {s.node for s in states if s.lines}
        newest = max((s.progress_ns for s in states if s.progress_ns is not None), default=None)
        self.cutoff_ns = newest - SKEW_NS if newest is not None else None
        self.progress: dict[tuple[str, str], int] = {}
        for state in states:
            key = (state.node, state.progress_source)
            self.progress[key] = max(state.progress_seq, self.progress.get(key, 0))
        self.events: dict[int, list[Event]] = {}
        self.agent_lines: dict[str, list[AgentLine]] = {}
        self.node_events: list[tuple[str | None, Event]] = []
        self.job_events: list[Event] = []
        self.speakers = Speakers()

    def take(self, rows: Sequence[EventRow], taxonomy: Taxonomy) -> None:
        """Sort the rows by whom they belong to."""
        label = None if self.as_stored else taxonomy.label
        for row in sorted(rows, key=lambda r: (r.node, r.source, r.seq)):
            spot = Spot(row.node, row.source, row.seq, row.rank, self.skews.get(row.node, 0))
            time_ns = row.time_ns - spot.skew_ns
            if self.is_old(row, time_ns) or (row.channel == TEE and row.node in self.with_files):
                continue
            fault = _fault_of(row, taxonomy, label)
            event = Event(time_ns, row.source, row.seq, row.severity, row.message, fault, spot)
            slot = slot_of(row.local_rank, row.rank)
            if slot is not None:
                self.of_rank(row, slot, event)
                continue
            self.speakers.take(row.node, event)
            if row.channel == CONSOLE:
                lines = self.agent_lines.setdefault(row.node, [])
                lines.append(AgentLine(time_ns, row.message, spot))
                self.job_events.append(event)
            else:
                self.node_events.append((row.node or None, event))

    def is_old(self, row: EventRow, time_ns: int) -> bool:
        """Whether the job went on after this line: by position in the file that shows it, else
        by time on the job's clock."""
        position = self.progress.get((row.node, row.source))
        if position is not None:
            return row.seq < position and row.channel == CONSOLE
        return self.cutoff_ns is not None and time_ns < self.cutoff_ns

    def of_rank(self, row: EventRow, slot: str, event: Event) -> None:
        """Give one event to its process."""
        state = self.by_slot.get((row.node, slot))
        if state is None and row.rank is not None:
            state = self.by_rank.get((row.node, row.rank))
        if state is None or recovered(event, state):
            return
        events = self.events.setdefault(id(state), [])
        if len(events) < MAX_EVENTS:
            events.append(event)

    def facts(self) -> AttemptFacts:
        """The finished case, ranks ascending."""
        agents = tuple(read_agent(n or None, lines) for n, lines in self.agent_lines.items())
        self.name_ranks(agents)
        blocks, hosts = blocks_of(agents), _hosts_of(agents)
        ranks = {
            state.rank: RankFacts(
                rank=state.rank,
                node=state.node or hosts.get(state.rank) or _node_of(blocks, state.rank),
                local_rank=state.local_rank,
                pid=state.pid,
                events=tuple(self.events.get(id(state), ())),
                last_ns=state.last_ns,
                last_step=state.last_step,
                last_text=state.last_text,
                skew_ns=self.skews.get(state.node, 0),
                progress_ns=state.progress_ns,
            )
            for state in sorted(self.states, key=lambda s: s.lines + s.copies)
            if state.rank is not None
        }
        for found in self.speakers.facts(set(ranks)):
            ranks[found.rank] = found
        sizes = [state.world_size for state in self.states if state.world_size]
        return AttemptFacts(
            ranks=tuple(ranks[rank] for rank in sorted(ranks)),
            agents=agents,
            node_events=tuple(self.node_events),
            job_events=tuple(self.job_events),
            world_size=max(sizes, default=None),
            clocks={clock.node: clock for clock in self.clocks if clock.skew_ns is not None},
        )

    def name_ranks(self, agents: Sequence[AgentFacts]) -> None:
        """A process that never named its rank may be named by its agent's summary."""
        named = {
            (agent.node or "", ended.local_rank): ended.rank
            for agent in agents
            for ended in agent.exits
            if ended.rank is not None
        }
        for state in self.states:
            if state.rank is None and state.local_rank is not None:
                state.rank = named.get((state.node, state.local_rank))


def _fault_of(row: EventRow, taxonomy: Taxonomy, label: str | None) -> FaultClass | None:
    """As it was stored with the line, unless the classes have changed since. label: the version
    that counts, None for any."""
    if label is not None and row.taxonomy != label:
        return taxonomy.classify(row.message)
    return None if row.fault is None else taxonomy.classes.get(row.fault)


def _hosts_of(agents: Sequence[AgentFacts]) -> dict[int, str]:
    """rank -> the host that torchrun prints for it, for files without a node."""
    found: dict[int, str] = {}
    for agent in agents:
        for ended in agent.exits:
            if ended.rank is not None and ended.host:
                found.setdefault(ended.rank, ended.host)
    return found


def _node_of(blocks: Blocks, rank: int) -> str | None:
    place = blocks.of(rank)
    return None if place is None else place[0]


def recovered(event: Event, state: RankState) -> bool:
    """Whether the rank printed a step after the event: later in the same file, else by time."""
    if state.progress_ns is None:
        return False
    if event.source == state.progress_source:
        return event.seq < state.progress_seq
    return event.time_ns < state.progress_ns
