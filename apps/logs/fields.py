"""One line as the fields that programs get: the API, downloads, the terminal."""

from __future__ import annotations

from typing import Any

from apps.core.records import Severity
from apps.core.times import say_time
from apps.logs import search
from apps.logs.records import LogEntry


def fields_of(entry: LogEntry) -> dict[str, Any]:
    """All that is known of a line, ready for JSON. at: its cursor, unique in its run."""
    return {
        "kind": "line",
        "time_ns": entry.time_ns,
        "time": say_time(entry.time_ns),
        "attempt": entry.attempt,
        "rank": entry.rank,
        "local_rank": entry.local_rank,
        "node": entry.node,
        "level": Severity(entry.severity).name.lower(),
        "step": entry.step,
        "source": entry.source,
        "channel": entry.channel,
        "seq": entry.seq,
        "text": entry.text,
        "at": search.line_cursor(entry),
    }
