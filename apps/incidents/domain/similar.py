"""Which past incidents look like this one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.incidents.domain.incident import IncidentInfo

SHOWN = 5
_UNKNOWN = "unknown"
_WEIGHTS = {"node": 3, "cause": 2, "kind": 1, "signal": 1}
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Similar:
    """An incident and what it shares with another one, in words, the most telling first."""

    incident: IncidentInfo
    why: tuple[str, ...]


def similar(
    incident: IncidentInfo, others: Iterable[IncidentInfo], shown: int = SHOWN
) -> tuple[Similar, ...]:
    """The most alike of `others`, then the newest; `incident` itself is none of them.

    A suspected host in common counts most: it is rarely chance. Then the cause that was found (an
    unknown one says nothing), the kind, and the signal that moved first. The kind or the signal
    alone is too little: every explosion moves the gradient norm.
    """
    scored = []
    for other in others:
        shared = _shared(incident, other)
        score = sum(_WEIGHTS[name] for name in shared)
        if other.id != incident.id and score >= _LEAST:
            scored.append((-score, -other.id, Similar(other, tuple(shared.values()))))
    return tuple(found for _, _, found in sorted(scored, key=lambda row: row[:2])[:shown])


def _shared(one: IncidentInfo, other: IncidentInfo) -> dict[str, str]:
    """What both have, as (name, words), in the order of _WEIGHTS."""
    shared = {}
    nodes = sorted(_nodes(one) & _nodes(other))
    if nodes:
        shared["node"] = f"host {', '.join(nodes[:3])} suspected"
    if _cause(one) == _cause(other) != _UNKNOWN:
        shared["cause"] = f"same cause: {_cause(one).replace('_', ' ')}"
    if one.kind == other.kind:
        shared["kind"] = f"also {one.kind.replace('_', ' ')}"
    if _signal(one) and _signal(one) == _signal(other):
        shared["signal"] = f"{_signal(one)} moved first"
    return shared


def _nodes(incident: IncidentInfo) -> set[str]:
    return {suspect.node for suspect in incident.suspects if suspect.node}


def _cause(incident: IncidentInfo) -> str:
    return incident.hypotheses[0].cause if incident.hypotheses else _UNKNOWN


def _signal(incident: IncidentInfo) -> str:
    return incident.earliest_signal.series if incident.earliest_signal else ""
