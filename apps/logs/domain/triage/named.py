"""Whom a line names that its file does not: the process that NCCL prints with its message, and the
machine that a transport or Ray complains about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.roots import Event

ALONE, AGREED = 0.4, 0.6
MIN_AGREEING = 3
_NCCL = re.compile(r"([\w.-]{1,253}):(\d{1,18}):\d{1,18} \[\d{1,4}\] ")
_SERVICE = re.compile(r"\[Proxy Service(?: UDS)? (\d{1,7})\]")
_PEER = re.compile(r"Worker IP address: ([\w.:-]{1,253})|completion from peer ([\d.]{7,15})<")


@dataclass(frozen=True, slots=True)
class Speaker:
    """The process that a line says it is of. rank: in its outermost communicator, if it says so."""

    host: str
    pid: int
    rank: int | None


def speaker(text: str) -> Speaker | None:
    """Who prints this, as NCCL writes it: `host:pid:tid [device] ...`."""
    found = _NCCL.match(text)
    if found is None:
        return None
    service = _SERVICE.search(text)
    return Speaker(found[1], int(found[2]), None if service is None else int(service[1]))


@dataclass(slots=True)
class Speakers:
    """Events of processes that only their lines name: (host, pid) -> events and ranks."""

    events: dict[tuple[str, int], list[Event]] = field(default_factory=lambda: defaultdict(list))
    ranks: dict[tuple[str, int], set[int]] = field(default_factory=lambda: defaultdict(set))

    def take(self, node: str, event: Event) -> None:
        """Keeps the event if it says whose it is. node: of its file, "" if unknown."""
        said = speaker(event.text)
        if said is None:
            return
        key = (node or said.host, said.pid)
        self.events[key].append(event)
        if said.rank is not None:
            self.ranks[key].add(said.rank)

    def facts(self, known: set[int]) -> Iterator[RankFacts]:
        """Ranks that are not known otherwise. A process that names two, and a rank that two
        processes claim, are none: those are numbers inside of groups."""
        claims: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for key, ranks in self.ranks.items():
            for rank in ranks:
                claims[rank].append(key)
        for rank, keys in claims.items():
            if rank not in known and len(keys) == 1 and len(self.ranks[keys[0]]) == 1:
                node, pid = keys[0]
                events = tuple(self.events[keys[0]])
                yield RankFacts(rank, node or None, None, pid, events, None, None, "")


@dataclass(frozen=True, slots=True)
class Peer:
    """A machine that others complain about. event: the first complaint."""

    node: str
    event: Event
    confidence: float


def blamed_peer(facts: AttemptFacts) -> Peer | None:
    """The one machine that most processes name in errors of role cause or either; None for a tie.

    Each process has one vote. A single voice may be of either end of a broken link.
    """
    voices: dict[str, dict[str, Event]] = defaultdict(dict)
    for who, event in _complaints(facts):
        found = _PEER.search(event.text)
        if found is not None and event.role in ("cause", "either"):
            voices[(found[1] or found[2]).rstrip(".:")].setdefault(who, event)
    ordered = sorted(voices.items(), key=lambda pair: -len(pair[1]))
    if not ordered or (len(ordered) > 1 and len(ordered[0][1]) == len(ordered[1][1])):
        return None
    node, by = ordered[0]
    confidence = AGREED if len(by) >= MIN_AGREEING and len(ordered) == 1 else ALONE
    return Peer(node, min(by.values(), key=lambda e: (e.time_ns, e.seq)), confidence)


def _complaints(facts: AttemptFacts) -> Iterator[tuple[str, Event]]:
    """(who says it, event) of all lines."""
    for rank in facts.ranks:
        yield from ((f"rank {rank.rank}", event) for event in rank.events)
    unplaced = [*facts.job_events, *(event for _, event in facts.node_events)]
    for event in unplaced:
        said = speaker(event.text)
        yield event.source if said is None else f"{said.host}:{said.pid}", event
