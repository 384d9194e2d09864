"""Node events as plain JSON. Plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from apps.core.records import NodeEvent
from apps.ingest import frames

MAX_EVENTS = 10_000
MAX_RAW = 2_048
"""Characters of an event's own words that are kept."""


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


class _Body(msgspec.Struct, frozen=True):
    events: Annotated[list[_Event], msgspec.Meta(max_length=MAX_EVENTS)]
    left_out: dict[str, frames.Whole] = {}


@dataclass(frozen=True, slots=True)
class NodeBatch:
    """Events, and why -> how many of a body became none."""

    events: tuple[NodeEvent, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


LEFT_OUT = frozenset({"alerts_without_node", "alerts_cut", "kernel_lines_unread"})
"""Counters that a body may raise; any other would be a sender's invention."""


def pack(batch: NodeBatch) -> bytes:
    """The batch as a body that `parse` reads."""
    return msgspec.json.encode({"events": batch.events, "left_out": dict(batch.left_out)})


def parse(body: bytes) -> NodeBatch:
    """The events of a body; BadPayload says which field is wrong.

    Words that are too long for their column are cut, NUL becomes U+FFFD.
    """
    read = frames.decode(body, _Body)
    events = tuple(
        NodeEvent(
            node=event.node,
            time_ns=event.time_ns,
            kind=_text(event.kind, 64),
            severity=_text(event.severity, 16),
            message=_text(event.message, None),
            device=None if event.device is None else _text(event.device, 128),
            source=_text(event.source, 32),
            raw=_text(event.raw, MAX_RAW),
            ended_ns=event.ended_ns,
            key=event.key,
        )
        for event in read.events
    )
    left_out = {name: count for name, count in read.left_out.items() if name in LEFT_OUT}
    return NodeBatch(events, left_out)


def _text(value: str, most: int | None) -> str:
    return value.replace("\0", "\ufffd")[:most]
