"""Node events as plain JSON. Plain Python."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest import frames
from apps.nodes.domain.conditions import Look, Mode, Reading

MAX_EVENTS = 10_000
MAX_LOOKS = MAX_READINGS = 200_000
"""Of a body; what a door takes (4 MiB) holds fewer."""
MAX_RAW = 2_048
"""Characters of an event's own words that are kept."""
MAX_MESSAGE = 1_000
MAX_NAME = 128
"""Of a reading."""
SMALLER = "send smaller batches"


class _Event(msgspec.Struct, frozen=True):
    node: frames.Node
    time_ns: frames.Whole
    kind: str
    message: str
    severity: str = "info"
    device: str | None = None
    source: str = "api"
    raw: str = ""
    ended_ns: frames.Whole | None = None
    key: str = ""


class _Reading(msgspec.Struct, frozen=True):
    name: str
    kind: str
    level: str
    message: str
    device: str | None = None
    mode: Mode = Mode.STATE
    value: float = 0.0
    near: bool = False
    least: float = 0.0
    time_ns: frames.Whole | None = None
    raw: str = ""


class _Look(msgspec.Struct, frozen=True):
    source: str
    node: frames.Node
    time_ns: frames.Whole
    readings: Annotated[list[_Reading], msgspec.Meta(max_length=MAX_READINGS)]
    whole: bool = False


class _Body(msgspec.Struct, frozen=True):
    events: Annotated[list[_Event], msgspec.Meta(max_length=MAX_EVENTS)]
    left_out: dict[str, frames.Whole] = {}
    looks: Annotated[list[_Look], msgspec.Meta(max_length=MAX_LOOKS)] = []


@dataclass(frozen=True, slots=True)
class Sender:
    """What the sender says of a whole body. node: "" if the body names it itself.

    boot_ns: when the machine started, for times that count from there. offset_s: zone of times
    that name none, seconds east of UTC. received_ns: gives a year to times without one.
    clock_ns: what the clock of the body's writer said when the body was sent; None: it is right.
    """

    node: str
    received_ns: int
    boot_ns: int | None = None
    offset_s: int = 0
    clock_ns: int | None = None

    def named(self) -> str:
        """The node; BadPayload if nobody says which it is."""
        if not self.node:
            raise BadPayload("nothing says which node this is of", where="node", hint=ADD_NODE)
        return clean(self.node, 253)


ADD_NODE = "add ?node=NAME"


@dataclass(frozen=True, slots=True)
class NodeBatch:
    """Events, why -> how many of a body became none, and how nodes stand, in order of time."""

    events: tuple[NodeEvent, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    looks: tuple[Look, ...] = ()


LEFT_OUT = frozenset({
    "alerts_without_node", "alerts_cut", "kernel_lines_unread", "fabricmanager_lines_unread",
    "gpud_times_unread", "kubernetes_events_without_node", "kubernetes_objects_unread",
    "metric_lines_unread", "metrics_without_node", "nvidia_smi_lines_unread", "readings_late",
    "sel_lines_unread", "sel_without_time", "slurm_job_nodes_cut", "slurm_lines_unread",
    "slurm_objects_unread", "slurm_partitions", "superbench_lines_unread",
})  # fmt: skip
"""Counters that a body may raise; any other would be a sender's invention."""


def pack(batch: NodeBatch) -> bytes:
    """The batch as a body that `parse` reads."""
    looks = {"looks": batch.looks} if batch.looks else {}
    left_out = dict(batch.left_out)
    return msgspec.json.encode({"events": batch.events, "left_out": left_out} | looks)


def parse(body: bytes) -> NodeBatch:
    """The events of a body; BadPayload says which field is wrong.

    Words that are too long for their column are cut, NUL becomes U+FFFD.
    """
    read = frames.decode(body, _Body)
    events = tuple(
        NodeEvent(
            node=event.node,
            time_ns=event.time_ns,
            kind=clean(event.kind, 64),
            severity=clean(event.severity, 16),
            message=clean(event.message, None),
            device=None if event.device is None else clean(event.device, 128),
            source=clean(event.source, 32),
            raw=clean(event.raw, MAX_RAW),
            ended_ns=event.ended_ns,
            key=event.key,
        )
        for event in read.events
    )
    left_out = {name: count for name, count in read.left_out.items() if name in LEFT_OUT}
    return NodeBatch(events, left_out, tuple(_look(look) for look in read.looks))


def _look(look: _Look) -> Look:
    readings = tuple(
        Reading(
            name=_told_apart(clean(one.name, None)),
            kind=clean(one.kind, 64),
            level=clean(one.level, 16),
            message=clean(one.message, MAX_MESSAGE),
            device=None if one.device is None else clean(one.device, 128),
            mode=one.mode,
            value=one.value,
            near=one.near,
            least=one.least,
            time_ns=one.time_ns,
            raw=clean(one.raw, MAX_RAW),
        )
        for one in look.readings
    )
    return Look(clean(look.source, 32), look.node, look.time_ns, readings, look.whole)


def _told_apart(name: str) -> str:
    """At most MAX_NAME characters, others for other names: mount points of one pod begin alike."""
    if len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{name[: MAX_NAME - 17]}~{digest}"


def clean(value: str, most: int | None) -> str:
    """Words as the database takes them: without NUL, and no more than `most` characters."""
    return value.replace("\0", "\ufffd")[:most]
