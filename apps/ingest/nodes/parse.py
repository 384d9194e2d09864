"""Node events as plain JSON. Plain Python."""

from __future__ import annotations

from typing import Annotated

import msgspec

from apps.core.records import NodeEvent
from apps.ingest import frames


class _Event(msgspec.Struct, frozen=True):
    node: frames.Node
    time_ns: frames.Whole
    kind: str
    message: str
    severity: str = "info"
    device: str | None = None


class _Body(msgspec.Struct, frozen=True):
    events: Annotated[list[_Event], msgspec.Meta(max_length=10_000)]


def parse(body: bytes) -> tuple[NodeEvent, ...]:
    """The events of a body; BadPayload says which field is wrong.

    Words that are too long for their column are cut, NUL becomes U+FFFD.
    """
    return tuple(
        NodeEvent(
            node=event.node,
            time_ns=event.time_ns,
            kind=_text(event.kind, 64),
            severity=_text(event.severity, 16),
            message=_text(event.message, None),
            device=None if event.device is None else _text(event.device, 128),
        )
        for event in frames.decode(body, _Body).events
    )


def _text(value: str, most: int | None) -> str:
    return value.replace("\0", "\ufffd")[:most]
