"""Node events as plain JSON. Plain Python."""

from __future__ import annotations

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest import frames

MAX_EVENTS = 10_000


class _Event(msgspec.Struct, frozen=True):
    node: str
    time_ns: int
    kind: str
    message: str
    severity: str = "info"
    device: str | None = None


class _Body(msgspec.Struct, frozen=True):
    events: list[_Event]


def parse(body: bytes) -> tuple[NodeEvent, ...]:
    """The events of a body; BadPayload says which field is wrong."""
    found = frames.decode(body, _Body).events
    if len(found) > MAX_EVENTS:
        raise BadPayload(f"more than {MAX_EVENTS} events", where="events")
    for at, event in enumerate(found):
        if not event.node or len(event.node) > 255 or not 0 <= event.time_ns < 2**63:
            raise BadPayload("an event needs a node and a time", where=f"events[{at}]")
    return tuple(
        NodeEvent(e.node, e.time_ns, e.kind[:64], e.severity[:16], e.message, e.device)
        for e in found
    )
