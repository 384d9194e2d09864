"""How machines stand, look after look, and the events that follow from a change. Plain Python.

An exporter says the same every fifteen seconds. Kept is how things stand; told is what changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from apps.core.records import NodeEvent
from apps.core.words import duration

NS: Final = 1_000_000_000
UNDATED: Final = "it was there at the first look, when it happened is not known"


class Mode(StrEnum):
    """What a change of a reading means.

    state: it lasts from the first look that finds it bad to the first that does not.
    count: a rise is an event; less than before means that counting began anew.
    latest: the number of what happened last, 0 for nothing; another number is an event.
    mark: changes when something happened; the first is no news.
    """

    STATE = "state"
    COUNT = "count"
    LATEST = "latest"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class Reading:
    """One thing at one look. name: tells it from others of the node. device: what it is part of.

    level: severity of a state that is bad or of the event that a change is; "" if all is well.
    near: too good to begin a bad state, not good enough to end one. value: of every mode but
    state. least: the smallest rise, or change of a mark, that counts. time_ns: since when, where
    the source says so; None for the time of the look. A time after the look counts as the look's:
    a clock that runs ahead must not make what comes next late.
    """

    name: str
    kind: str
    level: str
    message: str
    device: str | None = None
    mode: Mode = Mode.STATE
    value: float = 0.0
    near: bool = False
    least: float = 0.0
    time_ns: int | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What one source saw of one node at once. whole: a state that is not named is over."""

    source: str
    node: str
    time_ns: int
    readings: tuple[Reading, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """How something stood last. since_ns: of a state that is bad, of the last change of others."""

    mode: Mode
    kind: str
    level: str
    message: str
    value: float
    since_ns: int
    device: str | None = None
    raw: str = ""


@dataclass(slots=True)
class Change:
    """What a look changes: the events, what is held from now on and what no longer is."""

    events: list[NodeEvent] = field(default_factory=list)
    put: dict[str, Held] = field(default_factory=dict)
    drop: set[str] = field(default_factory=set)
    late: int = 0


def change(held: Mapping[str, Held], look: Look) -> Change:
    """What a look changes. held: of the same source and node. O(readings + held).

    A reading from before the last change says nothing about now: it is counted as late. A state
    that gets worse or better, or means something else, ends and begins anew.
    """
    changed = Change()
    for reading in look.readings:
        before = None if reading.name in changed.drop else held.get(reading.name)
        _read(changed, look, changed.put.get(reading.name, before), reading)
    if look.whole:
        named = {reading.name for reading in look.readings}
        for name, one in held.items():
            if one.mode is Mode.STATE and name not in named:
                _end(changed, look, name, one, look.time_ns)
    return changed


def _since(look: Look, reading: Reading) -> int:
    return look.time_ns if reading.time_ns is None else min(reading.time_ns, look.time_ns)


def _read(changed: Change, look: Look, before: Held | None, reading: Reading) -> None:
    at_ns = _since(look, reading)
    if before is not None and before.mode is not reading.mode:
        before = None
    if before is not None and at_ns < before.since_ns:
        changed.late += 1
    elif reading.mode is Mode.STATE:
        _state(changed, look, before, reading)
    else:
        _number(changed, look, before, reading)


def _state(changed: Change, look: Look, before: Held | None, reading: Reading) -> None:
    at_ns = _since(look, reading)
    if before is not None and (before.level, before.kind) == (reading.level, reading.kind):
        return
    if before is not None and not reading.level and reading.near:
        return
    if before is not None:
        # A source may keep its "since" and change its mind on what it is: that is news of now.
        kept = bool(reading.level) and at_ns == before.since_ns
        _end(changed, look, reading.name, before, look.time_ns if kept else at_ns)
    if reading.level:
        now = _hold(changed, reading, at_ns)
        changed.events.append(_event(look, reading.name, now))


def _number(changed: Change, look: Look, before: Held | None, reading: Reading) -> None:
    at_ns = _since(look, reading)
    if before is not None and not _moved(before.value, reading):
        return
    said = _said(before, reading, at_ns)
    now = _hold(changed, reading, at_ns)
    if said:
        level = reading.level if before is not None else "info"
        changed.events.append(_event(look, reading.name, replace(now, level=level, message=said)))


def _moved(before: float, reading: Reading) -> bool:
    rise = reading.value - before
    if reading.mode is Mode.COUNT:
        return rise < 0 or rise >= max(reading.least, 1e-9)
    return abs(rise) > reading.least


def _said(before: Held | None, reading: Reading, at_ns: int) -> str:
    """The words of an event, "" for none."""
    if reading.value == 0 or (before is None and (reading.mode is Mode.MARK or reading.least)):
        return ""
    if reading.mode is not Mode.COUNT:
        return reading.message if before else f"{reading.message} ({UNDATED})"
    if before is None:
        return f"{reading.value:g} {reading.message} ({UNDATED})"
    if reading.value < before.value:
        return f"{reading.value:g} {reading.message} since counting began anew"
    rise, over_s = reading.value - before.value, (at_ns - before.since_ns) / NS
    return f"{rise:g} {reading.message} within {duration(over_s)}, {reading.value:g} in all"


def _hold(changed: Change, reading: Reading, at_ns: int) -> Held:
    changed.drop.discard(reading.name)
    now = changed.put[reading.name] = Held(
        reading.mode,
        reading.kind,
        reading.level,
        reading.message,
        reading.value,
        at_ns,
        reading.device,
        reading.raw,
    )
    return now


def _end(changed: Change, look: Look, name: str, before: Held, at_ns: int) -> None:
    changed.put.pop(name, None)
    changed.drop.add(name)
    changed.events.append(_event(look, name, before, max(at_ns, before.since_ns)))


def _event(look: Look, name: str, held: Held, ended_ns: int | None = None) -> NodeEvent:
    return NodeEvent(
        node=look.node,
        time_ns=held.since_ns,
        kind=held.kind,
        severity=held.level,
        message=held.message,
        device=held.device,
        source=look.source,
        raw=held.raw,
        ended_ns=ended_ns,
        key=f"{name}/{held.kind}/{held.level}",
    )
