"""How much of an incident each host is blamed for. Plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.core.records import NodeEvent, Suspect
from apps.incidents.domain.faults import of_host
from apps.incidents.domain.suspects import SILENT_CORRUPTION
from apps.nodes.domain.xids import EITHER, xid

SUSPECT_FROM: Final = 0.4
"""Blamed for so much, a host is suspected: a medium verdict on hardware, or a high one on what may
be hardware as well."""
MAX_HOSTS: Final = 64
"""Hosts that one incident may blame, the surest ones."""
BEFORE_NS: Final = 600 * 1_000_000_000
AFTER_NS: Final = 300 * 1_000_000_000
"""An event of the host from 10 minutes before to 5 after the onset confirms the suspicion. Source:
the window of the card of an incident; not measured."""
LOUD: Final = frozenset({"critical", "error"})
_SYMPTOMS: Final = frozenset({
    "peermem", "oom_kill", "nfs", "load", "storage", "evicted", "preempted",
})  # fmt: skip
"""Kinds of events that follow a failure of the job, of the storage or a scheduler's decision as
well as they cause one."""
_NOT_THE_HOST: Final = frozenset({"none", "storage", "scheduler", "agent", "code", "compiler"})
_OF_USERS: Final = "user_"
_UNKNOWN_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class HostBlame:
    """What an incident says of one host. weight: 0..1, of all hosts of an incident at most 1.

    rank: of the suspect that weighs most. confirmed_by: an event of the host at the same time, in
    words; "" for none.
    """

    node: str
    rank: int | None
    fault_class: str
    confidence: float
    weight: float
    confirmed_by: str = ""

    @property
    def suspected(self) -> bool:
        """Whether it is enough to suspect the host."""
        return self.weight >= SUSPECT_FROM or self.confirmed_by != ""


def share(fault_class: str, blame: str) -> float:
    """How much of a fault of this class may lie in its host: 0 to 1.

    blame: who acts, of the taxonomy ("user_code_or_hardware"); the mean over those it names. What
    points to another event ("find_silent_rank") and what is not known counts half.
    """
    if of_host(fault_class) or fault_class == SILENT_CORRUPTION:
        return 1.0
    parties = blame.split("_or_") if blame else []
    shares = [_share(party) for party in parties]
    return sum(shares) / len(shares) if shares else _UNKNOWN_SHARE


def _share(party: str) -> float:
    if party in _NOT_THE_HOST or party.startswith(_OF_USERS):
        return 0.0
    whole = party.startswith("host") or party == "hardware"
    return 1.0 if whole else _UNKNOWN_SHARE


def host_blames(
    suspects: Sequence[Suspect],
    blame_of: Mapping[str, str],
    confirmed: Mapping[str, str] | None = None,
) -> tuple[HostBlame, ...]:
    """The hosts that the suspects of an incident name, the most blamed first.

    blame_of: fault class -> who acts. confirmed: node -> the event that confirms it in words; then
    the whole confidence counts, because hardware outranks what a program was taken for. A host
    counts by its heaviest suspect. Weights that add up to more than 1 are scaled down to 1.
    """
    said = confirmed or {}
    heaviest: dict[str, HostBlame] = {}
    for suspect in suspects:
        if suspect.node:
            one = _blame(suspect, suspect.node, blame_of, said)
            known = heaviest.get(one.node)
            if known is None or one.weight > known.weight:
                heaviest[one.node] = one
    ranked = sorted(heaviest.values(), key=lambda b: (-b.weight, -b.confidence, b.node))
    return _within_one(ranked[:MAX_HOSTS])


def _blame(
    suspect: Suspect, node: str, blame_of: Mapping[str, str], said: Mapping[str, str]
) -> HostBlame:
    name, words = suspect.fault_class, said.get(node, "")
    part = 1.0 if words else share(name, blame_of.get(name, ""))
    confidence = min(max(suspect.confidence, 0.0), 1.0)
    return HostBlame(node, suspect.rank, name, confidence, confidence * part, words)


def _within_one(blames: Sequence[HostBlame]) -> tuple[HostBlame, ...]:
    total = sum(one.weight for one in blames)
    if total <= 1:
        return tuple(blames)
    return tuple(
        HostBlame(b.node, b.rank, b.fault_class, b.confidence, b.weight / total, b.confirmed_by)
        for b in blames
    )


def _speaks_of_the_host(kind: str) -> bool:
    """Not an Xid that a bug of the program raises as well, such as an illegal address (31)."""
    number = kind.removeprefix("xid_")
    if number != kind and number.isdigit():
        return xid(int(number)).blame != EITHER
    return kind not in _SYMPTOMS


def confirming(events: Iterable[NodeEvent], onset_ns: int) -> dict[str, str]:
    """node -> the first event that confirms a suspicion of that onset, in words."""
    found: dict[str, str] = {}
    for event in sorted(events, key=lambda e: e.time_ns):
        near = onset_ns - BEFORE_NS <= event.time_ns <= onset_ns + AFTER_NS
        if near and event.severity in LOUD and _speaks_of_the_host(event.kind):
            device = f" on {event.device}" if event.device else ""
            found.setdefault(event.node, f"{event.kind}{device}: {event.message}"[:300])
    return found
