"""An event of a machine on one line. Plain Python."""

from __future__ import annotations

from apps.core.records import NodeEvent
from apps.core.words import duration

_PLAIN = "api"
"""A source that says nothing: whoever posts events in our own form."""


def said(event: NodeEvent) -> str:
    """The event with its device, its sources and how long it lasted, where those are known."""
    device = f" [{event.device}]" if event.device else ""
    text = f"{event.node}: {event.kind}{device} {event.message}"
    notes = [] if event.source == _PLAIN else [f"from {event.source}"]
    if event.ended_ns is not None:
        notes.append(f"ended after {duration((event.ended_ns - event.time_ns) / 1e9)}")
    return f"{text} ({', '.join(notes)})" if notes else text
