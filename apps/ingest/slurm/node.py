"""How Slurm has a node: its state, why and since when, and when it booted. Plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.core.errors import BadPayload
from apps.ingest.frames import Node as Name
from apps.ingest.nodes.parse import MAX_MESSAGE, MAX_RAW, Sender, clean
from apps.ingest.slurm.values import Number, States, whole, words
from apps.logs.domain.reading.headers import Clock
from apps.nodes.domain.conditions import Look, Mode, Reading

SOURCE: Final = "slurm"
_FIELD = re.compile(r"\s+(?=[A-Za-z]{2,32}=)")
_REASON = re.compile(r"\sReason=(.*?)(?=\s+(?:Comment|Extra|Instance\w+)=|$)")
"""A person's words, which may hold `word=`: what may follow them in a line is known."""
_BY = re.compile(r"\s*\[([^\[\]@]{1,64})@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\]$")
_SHORT: Final = {"*": "NOT_RESPONDING", "$": "MAINTENANCE", "@": "REBOOT_REQUESTED"}

BAD: Final = {
    "DOWN": ("node_down", "error", "down"),
    "FAIL": ("node_failing", "error", "marked as failing"),
    "FAILING": ("node_failing", "error", "marked as failing"),
    "ERROR": ("node_down", "error", "in error"),
    "NOT_RESPONDING": ("node_not_responding", "error", "its slurmd does not answer"),
    "NO_RESPOND": ("node_not_responding", "error", "its slurmd does not answer"),
    "DRAIN": ("drained", "warning", "drained: no new job gets this node"),
    "DRAINING": ("drained", "warning", "drained: no new job gets this node"),
    "DRAINED": ("drained", "warning", "drained: no new job gets this node"),
    "INVALID_REG": ("node_misfit", "warning", "has less than Slurm was told: registration refused"),
    "MAINT": ("maintenance", "info", "in a maintenance reservation"),
    "MAINTENANCE": ("maintenance", "info", "in a maintenance reservation"),
    "REBOOT_REQUESTED": ("reboot_asked", "info", "is to boot again"),
    "REBOOT_ISSUED": ("reboot_asked", "info", "was told to boot again"),
    "POWERED_DOWN": ("powered_down", "info", "powered down"),
    "POWERING_DOWN": ("powered_down", "info", "powering down"),
    "UNKNOWN": ("node_unknown", "warning", "not heard of since slurmctld started"),
}
"""State or flag of slurm.h -> kind, severity, words. States that are no trouble are not here."""
_REASONED: Final = frozenset({"drained", "node_down", "node_failing"})
"""Kinds that the reason of a node, and its time, are about."""


class _Node(msgspec.Struct, frozen=True):
    """A node of `scontrol --json`, `sinfo --json` (to 22.05) and slurmrestd."""

    name: Name
    state: States = ()
    state_flags: States = ()
    reason: str | None = None
    reason_set_by_user: str | None = None
    reason_changed_at: Number = 0
    boot_time: Number = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """A node, as either form tells it. since_ns: of the reason; None where that has no time."""

    name: str
    states: tuple[str, ...]
    reason: str = ""
    by: str = ""
    since_ns: int | None = None
    boot_ns: int | None = None
    raw: str = ""


def of_json(found: Any) -> Standing:
    """A node as JSON; msgspec.ValidationError if it is none."""
    node = msgspec.convert(found, _Node)
    states = (*words(node.state), *words(node.state_flags))
    return Standing(
        name=node.name,
        states=states,
        reason=node.reason or "",
        by=node.reason_set_by_user or "",
        since_ns=_seconds(node.reason_changed_at),
        boot_ns=_seconds(node.boot_time),
        raw="+".join(states),
    )


def of_line(line: str, sender: Sender) -> Standing | None:
    """A line of `scontrol --oneliner show node`; None if it names no node.

    Times are the controller's, in a zone that it does not name: `sender` says it. O(length).
    """
    # Long runs of blanks would cost these patterns the square of their length.
    line = " ".join(line.split())
    said = _REASON.search(line)
    facts = line if said is None else line[: said.start()]
    fields = dict(part.partition("=")[::2] for part in _FIELD.split(facts.strip()))
    name = fields.get("NodeName", "").strip()
    if not name or len(name) > 253:
        return None
    clock = Clock(sender.received_ns, sender.offset_s)
    reason = "" if said is None else said[1].strip()
    by = _BY.search(reason)
    return Standing(
        name=name,
        states=_states(fields.get("State", "")),
        reason=_BY.sub("", reason),
        by=by[1] if by else "",
        since_ns=local(by[2], clock) if by else None,
        boot_ns=local(fields.get("BootTime", ""), clock),
        raw=fields.get("State", ""),
    )


def _states(text: str) -> tuple[str, ...]:
    """`IDLE*+DRAIN` -> IDLE, NOT_RESPONDING, DRAIN."""
    found = [part.strip() for part in text.upper().split("+")]
    short = [_SHORT[sign] for part in found for sign in part if sign in _SHORT]
    return tuple(part.rstrip("*~#!%$@^-") for part in found) + tuple(short)


def local(text: str, clock: Clock) -> int | None:
    """A time of Slurm's text forms; None for "None", "Unknown" and what is no time."""
    day, _, second = text.partition("T")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", day) or not re.fullmatch(r"\d\d:\d\d:\d\d", second):
        return None
    time_ns = clock.iso(f"{day} {second}", None, None)
    return time_ns if time_ns is not None and 0 <= time_ns <= 2**62 else None


def look(node: Standing, received_ns: int) -> Look:
    """Everything Slurm says of a node, so that what it no longer says is over."""
    return Look(SOURCE, node.name, received_ns, tuple(_readings(node, received_ns)), whole=True)


def _readings(node: Standing, received_ns: int) -> Iterator[Reading]:
    told: set[str] = set()
    since_ns = node.since_ns if (node.since_ns or 0) <= received_ns else None
    for state in node.states:
        kind, level, said = BAD.get(state, ("", "", ""))
        if not kind or kind in told:
            continue
        told.add(kind)
        reasoned = kind in _REASONED
        yield Reading(
            name=kind,
            kind=kind,
            level=level,
            message=clean(_with_reason(said, node) if reasoned else said, MAX_MESSAGE),
            time_ns=since_ns if reasoned else None,
            raw=clean(node.raw, MAX_RAW),
        )
    if node.boot_ns:
        at_s, said = float(node.boot_ns // 1_000_000_000), "the machine started again"
        yield Reading("boot", "reboot", "warning", said, mode=Mode.MARK, value=at_s, least=5)


def _with_reason(said: str, node: Standing) -> str:
    if not node.reason:
        return said
    return f"{said}: {node.reason}{f' ({node.by})' if node.by else ''}"


def _seconds(number: Number) -> int | None:
    seconds = whole(number)
    return seconds * 1_000_000_000 if seconds and seconds < 2**32 else None


def found_in(body: dict[str, Any], most: int) -> list[Any] | None:
    """The nodes of a JSON body: of a list, or the body itself; None if it has none.

    BadPayload for more than `most`.
    """
    if "name" in body and "state" in body:
        return [body]
    nodes = body.get("nodes")
    if not isinstance(nodes, list):
        return None
    if len(nodes) > most:
        raise BadPayload(f"more than {most} nodes", where="nodes", hint="send them in parts")
    return nodes
