"""JSON lines: one object a line, with the text and what is known beside it. Plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from apps.core.errors import BadPayload
from apps.ingest import frames, labels, readings
from apps.ingest.entries import MAX_LINES, Collector, EntryBatch, Group, Place, place_of, with_rest
from apps.ingest.lines.columns import ColumnBatch, read_columns

MAX_DEPTH: Final = 6
MAX_FIELDS: Final = 500
DEFAULT: Final = Place()
_JOURNAL: Final = "__REALTIME_TIMESTAMP"


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line with usual fields only, which is read as a struct; others are read as a mapping."""

    ts: str | int | float | None = None
    time: str | int | float | None = None
    timestamp: str | int | float | None = None
    msg: str | None = None
    message: str | None = None
    body: str | None = None
    level: str | int | None = None
    severity: str | int | None = None
    rank: int | str | None = None
    local_rank: int | str | None = None
    node: str | None = None
    host: str | None = None
    attempt: int | None = None
    source: str | None = None
    channel: str | None = None
    step: int | None = None


_LINES: Final = msgspec.json.Decoder(Line)
_ANY: Final = msgspec.json.Decoder(dict[str, Any])


def parse(body: bytes) -> EntryBatch | ColumnBatch:
    """The lines of a body by their place. BadPayload if there are too many lines or places.

    A line that is no JSON object is kept as text and counted as `bad_lines`.
    """
    if body.count(b"\n") > MAX_LINES:
        raise BadPayload(f"more than {MAX_LINES} lines", where="body", hint="send smaller batches")
    return read_columns(body, _read_line) or _read_all(body)


def _read_line(raw: bytes) -> tuple[Group, Mapping[str, int]]:
    reader = _Reader()
    reader.take_raw(raw)
    batch = reader.into.batch()
    return batch.groups[0], batch.counts


def _read_all(body: bytes) -> EntryBatch:
    """The lines one by one."""
    frames.weigh(body)
    reader = _Reader()
    try:
        for line in _LINES.decode_lines(body):
            reader.take(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # One line is odd: read them one by one, from the start.
        reader = _Reader()
        for raw in body.split(b"\n"):
            reader.take_raw(raw)
    return reader.into.batch()


class _Reader:
    """Lines of one body, sorted while they are read."""

    def __init__(self) -> None:
        self.into = Collector()
        self._groups: dict[tuple[Any, ...], Group | None] = {}

    def take_raw(self, raw: bytes) -> None:
        """One line as bytes."""
        if not raw.strip():
            return
        try:
            self.take(_LINES.decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._take_any(raw)

    def take(self, line: Line) -> None:
        """A line with usual fields."""
        key = (line.attempt, line.node, line.host, line.rank, line.local_rank, line.source,
               line.channel)  # fmt: skip
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._group_of(line)
        texts = [text for text in (line.msg, line.message, line.body) if text is not None]
        if group is None or len(texts) != 1:
            self._take_fields(_fields_of(line))
            return
        at = line.ts if line.ts is not None else line.time
        at = line.timestamp if at is None else at
        level = line.severity if line.level is None else line.level
        self._add(group, at, level, line.step, texts[0])

    def _group_of(self, line: Line) -> Group | None:
        """The columns for the place of a line; None if something of it is odd."""
        said = labels.DEFAULT.understand(_fields_of(line))
        return None if said.odd else self.into.group(place_of(said.fields, DEFAULT))

    def _take_any(self, raw: bytes) -> None:
        try:
            found = _ANY.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.into.counts["bad_lines"] += 1
            text = raw.decode("utf-8", "replace")
            self._add(self.into.group(DEFAULT), None, None, None, text)
            return
        self._take_fields(dict(_flat(_journal(found))))

    def _take_fields(self, fields: Mapping[str, Any]) -> None:
        """A line with any fields: those that nobody understands stand behind the text."""
        said = labels.DEFAULT.understand(fields)
        shown = labels.worth_showing(said)
        self.into.counts["odd_fields"] += len(said.odd)
        self.into.counts["unknown_fields"] += len(shown) - len(said.odd)
        self.into.counts["labels_left_out"] += len(said.rest) - len(shown)
        known = said.fields
        text = with_rest(str(known.get("text", "")), shown)
        place = self.into.group(place_of(known, DEFAULT))
        self._add(place, known.get("time"), known.get("level"), known.get("step"), text)

    def _add(self, group: Group, at: Any, level: Any, step: int | None, text: str) -> None:
        time_ns, severity = None, None
        if at is not None:
            time_ns = readings.time_ns(at)
            self.into.counts["unreadable_times"] += time_ns is None
        if level is not None:
            severity = readings.severity(level)
            self.into.counts["unknown_levels"] += severity is None
        if step is not None and not 0 <= step < 2**62:
            step = None
            self.into.counts["odd_fields"] += 1
        group.time_ns.append(time_ns)
        group.severity.append(severity)
        group.step.append(step)
        group.text.append(text)


def _fields_of(line: Line) -> dict[str, Any]:
    return {
        name: value for name in Line.__struct_fields__ if (value := getattr(line, name)) is not None
    }


def _journal(found: dict[str, Any]) -> dict[str, Any]:
    """A line of `journalctl -o json` without journald's own bookkeeping. A message that is no
    UTF-8 comes as a list of bytes."""
    if _JOURNAL not in found:
        return found
    message = found.get("MESSAGE")
    if isinstance(message, list) and all(isinstance(b, int) and 0 <= b < 256 for b in message):
        found["MESSAGE"] = bytes(message).decode("utf-8", "replace")
    kept = labels.DEFAULT.understand(found)
    own = {name for name in kept.rest if name.startswith(("_", "SYSLOG_", "CODE_", "JOB_"))}
    return {name: value for name, value in found.items() if name not in own}


def _flat(value: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """Objects inside objects as dotted names."""
    for name, inner in list(value.items())[:MAX_FIELDS]:
        path = f"{prefix}{name}"
        if isinstance(inner, dict) and depth < MAX_DEPTH:
            yield from _flat(inner, f"{path}.", depth + 1)
        else:
            yield path, inner
