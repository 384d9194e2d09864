"""What torchrun's own lines on one node's console say about its processes.

Facts only: which process got a signal, which left with what code. torchrun's "Root Cause" is read
but never believed: it is the earliest whole second the agent noticed on its own node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from apps.logs.domain.triage.spot import NOWHERE, Spot

NS = 1_000_000_000
FIRST_BY_NS = 10 * NS
_SENT = re.compile(r"Sending process (\d+) closing signal (\w+)")
_FAILED = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+) \(pid: (\d+)\)")
_RANK = re.compile(r"\brank\s*: (\d+) \(local_rank: (\d+)\)")
_CODE = re.compile(r"\bexitcode\s*: (-?\d+)\s*\(pid: (\d+)\)")
_STOPPED = re.compile(r"got signal: (\d+)|Received (?:Signals\.)?(\w+) death signal")
_SIGNALS = {"SIGINT": 2, "SIGTERM": 15, "SIGHUP": 1, "SIGQUIT": 3}
_HOST = re.compile(r"^\s*host\s*: (\S+)")
_TIME = re.compile(r"^\s*time\s*: (\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)\s*$")
_ROOT = "Root Cause (first observed failure)"


@dataclass(frozen=True, slots=True)
class AgentLine:
    """One line of the agent itself (not of a rank), prefixes stripped."""

    time_ns: int
    text: str
    spot: Spot = NOWHERE


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended. code: negative = killed by that signal. host: as torchrun names it.

    told_ns: when, by its summary: whole seconds of the agent's local time, good for differences.
    """

    rank: int | None
    local_rank: int | None
    pid: int | None
    code: int
    time_ns: int
    text: str
    host: str | None = None
    told_ns: int | None = None
    spot: Spot = NOWHERE

    @property
    def own_ns(self) -> int:
        """The time as the agent's host wrote it."""
        return self.time_ns + self.spot.skew_ns


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """One node's agent. signalled: pids it sent SIGTERM to, with the time.

    named_root: the rank its summary calls root cause (shown, not believed). stopped_by: signal
    that the agent itself got from outside, if any.
    """

    node: str | None
    signalled: dict[int, int]
    exits: tuple[Exit, ...]
    named_root: int | None
    stopped_by: int | None
    _index: dict[tuple[str, int | None], int] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for at, found in enumerate(self.exits):
            local = found.local_rank if found.rank is None else None
            for key in (("rank", found.rank), ("pid", found.pid), ("local", local)):
                self._index.setdefault(key, at)

    @property
    def failed(self) -> bool:
        """Whether the agent saw a process fail by itself."""
        return any(e.code not in (0, -15, -2) for e in self.exits)

    def exit_of(self, rank: int | None, local_rank: int | None, pid: int | None) -> Exit | None:
        """The end of one process, found by rank, pid or local rank; None if none is reported."""
        keys = (("rank", rank), ("pid", pid), ("local", local_rank if pid is None else None))
        found = [self._index[key] for key in keys if key[1] is not None and key in self._index]
        return self.exits[min(found)] if found else None


def read_agent(node: str | None, lines: Sequence[AgentLine]) -> AgentFacts:
    """The facts in one agent's lines (in file order); lines that say nothing are skipped."""
    reader = _Reader()
    for line in lines:
        reader.read(line)
    return AgentFacts(
        node=node,
        signalled=reader.signalled,
        exits=tuple(reader.exits.values()),
        named_root=reader.named_root,
        stopped_by=reader.stopped_by,
    )


class _Reader:
    """Walks through the agent's lines; the summary spreads one process over several lines."""

    def __init__(self) -> None:
        self.signalled: dict[int, int] = {}
        self.exits: dict[int, Exit] = {}
        self.named_root: int | None = None
        self.stopped_by: int | None = None
        self.block: tuple[int, int] | None = None
        self.host: str | None = None
        self.told_ns: int | None = None
        self.in_root = False

    def read(self, line: AgentLine) -> None:
        """Take one line."""
        text = line.text
        sent = _SENT.search(text)
        if sent is not None:
            self.signalled.setdefault(int(sent[1]), line.time_ns)
            return
        failed = _FAILED.search(text)
        if failed is not None:
            self.keep(line, rank=None, local_rank=int(failed[2]), pid=failed[3], code=failed[1])
            return
        stopped = _STOPPED.search(text)
        if stopped is not None and self.stopped_by is None:
            self.stopped_by = int(stopped[1]) if stopped[1] else _SIGNALS.get(stopped[2], 15)
        self.summary(line)

    def summary(self, line: AgentLine) -> None:
        """A line of the block that follows ChildFailedError."""
        if _ROOT in line.text:
            self.in_root = True
        host = _HOST.search(line.text)
        if host is not None:
            self.host = host[1]
        told = _TIME.match(line.text)
        if told is not None:
            self.told_ns = _told_ns(told[1])
        rank = _RANK.search(line.text)
        if rank is not None:
            self.block = (int(rank[1]), int(rank[2]))
            if self.in_root:
                self.named_root = self.block[0]
        code = _CODE.search(line.text)
        if code is not None and self.block is not None:
            number, local = self.block
            self.keep(line, rank=number, local_rank=local, pid=code[2], code=code[1])

    def keep(
        self, line: AgentLine, *, rank: int | None, local_rank: int, pid: str, code: str
    ) -> None:
        """Remember an exit; the first time stays, a rank that is named later is added."""
        before = self.exits.get(int(pid))
        self.exits[int(pid)] = Exit(
            rank=rank if rank is not None else (before.rank if before else None),
            local_rank=local_rank,
            pid=int(pid),
            code=int(code),
            time_ns=before.time_ns if before else line.time_ns,
            text=before.text if before else line.text.strip(),
            host=self.host if rank is not None else (before.host if before else None),
            told_ns=self.told_ns if rank is not None else None,
            spot=before.spot if before else line.spot,
        )


def _told_ns(text: str) -> int | None:
    """Nanoseconds since the epoch as if the clock were in UTC; None for no real date."""
    try:
        return int(datetime.strptime(f"{text}Z", "%Y-%m-%d_%H:%M:%S%z").timestamp()) * NS
    except ValueError:
        return None


def first_to_end(agents: Sequence[AgentFacts]) -> Exit | None:
    """The rank that failed by itself FIRST_BY_NS or more before any other, by the summaries.

    Closer ones cannot be ordered: each agent notices late, by its own clock, in whole seconds.
    """
    told = [
        (ended.told_ns, ended)
        for agent in agents
        for ended in agent.exits
        if ended.told_ns is not None and ended.rank is not None and ended.code not in (0, -15, -2)
    ]
    first_ns, first = min(told, key=lambda one: one[0], default=(0, None))
    if first is None:
        return None
    others = [told_ns for told_ns, ended in told if ended.rank != first.rank]
    return first if others and min(others) - first_ns >= FIRST_BY_NS else None
