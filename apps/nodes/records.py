"""Hosts and what was done to them, as values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from apps.nodes.domain.standing import Act, HostState, Standing


@dataclass(frozen=True, slots=True)
class HostInfo:
    """One host. group: its rack, else what its name has in common with its neighbours.
    log2_score: see `domain.lemon`. urgency: what lists are sorted by, least first."""

    name: str
    standing: Standing
    log2_score: float
    rack: str
    group: str
    urgency: int
    first_seen_at: datetime

    @property
    def state(self) -> HostState:
        """Where it stands."""
        return self.standing.state


@dataclass(frozen=True, slots=True)
class ChangeInfo:
    """One change of a host's standing."""

    node: str
    seq: int
    at_ns: int
    act: Act
    before: HostState
    after: HostState
    actor: str
    reason: str
    cause: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of a list ended: what it is sorted by, of its last host."""

    urgency: int
    log2_score: float
    name: str


@dataclass(frozen=True, slots=True)
class HostQuery:
    """Which hosts. None and "" ask for nothing.

    text: in the name. group: exactly. names: only these. after: only behind this place.
    """

    state: HostState | None = None
    text: str = ""
    group: str | None = None
    names: Collection[str] | None = field(default=None, repr=False)
    limit: int = 50
    after: Place | None = None


@dataclass(frozen=True, slots=True)
class GroupCount:
    """How many hosts of a group are in each state, of the states that occur."""

    group: str
    counts: dict[HostState, int]

    @property
    def hosts(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    @property
    def ill(self) -> int:
        """Those that are not in good order."""
        return self.hosts - self.counts.get(HostState.OK, 0)


@dataclass(frozen=True, slots=True)
class OpenEvent:
    """Events of one kind of a host that are not over: the newest, and how many there are."""

    node: str
    kind: str
    severity: str
    message: str
    device: str | None
    source: str
    time_ns: int
    count: int
