"""Records of a `.wandb` file -> rows, samples, console lines and facts. Pure, no Django.

`parse_body` opens the body that the node agent posts, `decode` reads its records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from google.protobuf.message import DecodeError

from apps.core.records import FindingSeverity, MetricRow
from apps.incidents.domain.script_alert import TEXT_LENGTH, TITLE_LENGTH, ScriptAlert
from apps.ingest import frames
from apps.ingest.wandb.bulk import Object, objects
from apps.ingest.wandb.descriptor import MESSAGES
from apps.ingest.wandb.extras import EXACT, extra_of
from apps.ingest.wandb.said import (
    ALERT_LEVELS,
    ConsoleLine,
    RunFacts,
    SystemSample,
    WandbBatch,
    WandbBody,
    cut,
    wait_ms,
)
from apps.ingest.wandb.values import (
    LAST_TIME_S,
    Numbers,
    decode_all,
    items_of,
    key_text,
    nanoseconds,
    put_together,
    step_of,
    storable,
    usual_items,
)
from apps.ingest.wandb.wire import read_records

__all__ = [
    "ConsoleLine",
    "RunFacts",
    "SystemSample",
    "WandbBatch",
    "WandbBody",
    "decode",
    "parse_body",
    "read_records",
]

_UNREADABLE = (DecodeError, IndexError, ValueError, OverflowError, RecursionError)


@dataclass(slots=True)
class _Collector:
    now_ns: int
    shift_ns: int
    numbers: Numbers = field(default_factory=Numbers)
    kept: Numbers = field(default_factory=Numbers)
    rows: list[MetricRow] = field(default_factory=list)
    system: list[SystemSample] = field(default_factory=list)
    console: list[ConsoleLine] = field(default_factory=list)
    open_lines: dict[str, tuple[int, list[bytes]]] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    config: dict[bytes, bytes] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None
    preempting: bool = False
    alerts: list[ScriptAlert] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)


class _Header(msgspec.Struct, frozen=True):
    v: Literal[1]
    attempt: frames.Attempt
    file: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=frames.NO_NUL)]
    first_record: frames.Whole
    lengths: list[frames.Whole]
    node: frames.Node | None = None
    time_shift_ns: frames.Shift = 0
    damaged: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0


def parse_body(body: bytes) -> WandbBody:
    """Open a body: one line of JSON, then the records back to back. BadPayload names the field."""
    header, rest = frames.split(body, _Header)
    return WandbBody(
        attempt=header.attempt,
        file=header.file,
        node=header.node,
        first_record=header.first_record,
        time_shift_ns=header.time_shift_ns,
        records=tuple(frames.cut(rest, header.lengths, "header.lengths")),
        damaged=header.damaged,
    )


def decode(
    records: Sequence[bytes], *, now_ns: int, first_record: int = 0, shift_ns: int = 0
) -> WandbBatch:
    """Read records in file order; one that cannot be read becomes a problem, the rest go on.

    now_ns: time of a row that has none and follows none. shift_ns is added to every time read.
    About 14,000 steps of 60 values, each with its summary, per CPU second.
    """
    collector = _Collector(now_ns, shift_ns)
    parts = _parts(collector, records, first_record)
    ready = iter(objects([data for _, kind, data in parts if kind in _READY]))
    for number, kind, data in parts:
        found = next(ready) if kind in _READY else None
        try:
            if found is None or not _READY[kind](collector, found):
                _READERS[kind](collector, data)
        except _UNREADABLE as error:
            collector.problems.append(_problem(number, error))
    _close_lines(collector)
    return WandbBatch(
        rows=tuple(collector.rows),
        system=tuple(collector.system),
        console=tuple(collector.console),
        summary={key: storable(value) for key, value in collector.summary.items()},
        config=_decoded(collector.config),
        run=RunFacts(**collector.run) if collector.run else None,
        exit_code=collector.exit_code,
        preempting=collector.preempting,
        alerts=tuple(collector.alerts),
        skipped=dict(collector.numbers.skipped),
        problems=tuple(text for _, text in sorted(collector.problems)),
    )


def _problem(number: int, error: Exception) -> tuple[int, str]:
    return number, f"record {number}: {type(error).__name__}: {error}"[:300]


def _parts(
    collector: _Collector, records: Sequence[bytes], first_record: int
) -> list[tuple[int, int, bytes]]:
    """(number, kind, payload) of the records that are known; nothing is parsed yet."""
    parts = []
    for number, record in enumerate(records, first_record):
        try:
            kind, data = _payload(record)
        except (IndexError, ValueError) as error:
            collector.problems.append(_problem(number, error))
            continue
        if kind:
            parts.append((number, kind, data))
    return parts


def _payload(record: bytes) -> tuple[int, bytes]:
    """Kind and content of a record; kind 0 if it is none of the known ones."""
    at, size = 0, len(record)
    while at < size:
        tag, at = _varint(record, at)
        if tag & 7 == 0:
            _, at = _varint(record, at)
            continue
        if tag & 7 != 2:
            raise ValueError(f"unexpected wire type {tag & 7} at byte {at}")
        length, at = _varint(record, at)
        if at + length > size:
            raise ValueError(f"field {tag >> 3} ends {at + length - size} bytes too late")
        if tag >> 3 in _READERS:
            return tag >> 3, record[at : at + length]
        at += length
    return 0, b""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError(f"number at byte {at} is too long")


def _history(collector: _Collector, data: bytes) -> None:
    keys, texts, at = usual_items(data)
    rest = MESSAGES["History"].FromString(data[at:])
    decoded = decode_all([*texts, *(item.value_json for item in rest.item)])
    keys += [item.nested_key[0] if item.nested_key else item.key for item in rest.item]
    if any(len(item.nested_key) > 1 for item in rest.item):
        keys, decoded = put_together(keys, decoded, [()] * len(texts) + [
            item.nested_key[1:] for item in rest.item
        ])  # fmt: skip
    kept, values, own, odd = collector.kept, dict[str, float](), dict[str, Any](), False
    for key, value in zip(keys, decoded, strict=True):
        name = kept.names[key]
        if not name:
            own[key_text(key)] = value
        elif type(value) is float:
            values[name] = value
        else:
            kept.add(values, name, value)
            odd = odd or type(value) is not int or not -EXACT <= value <= EXACT
    step = step_of(own.get("_step", rest.step.num if rest.HasField("step") else None))
    if step is None:
        collector.numbers.skipped["row without a step"] += 1
        return
    time_ns = _row_time(collector, own.get("_timestamp"))
    found = dict(zip(map(key_text, keys), decoded, strict=True)) if odd else own
    extra = extra_of(found, time_ns - collector.shift_ns, collector.numbers.skipped)
    collector.rows.append(MetricRow(step, time_ns, values, extra=extra))


def _ready_history(collector: _Collector, found: Object) -> bool:
    """The row of a record whose items are one object; False if it has more to say."""
    rest = MESSAGES["History"].FromString(found.rest) if found.rest else None
    if rest is not None and rest.item:
        return False
    values = found.values
    said = rest.step.num if rest is not None and rest.HasField("step") else None
    step = step_of(values.pop("_step", said))
    if step is None:
        collector.numbers.skipped["row without a step"] += 1
        return True
    time_ns = _row_time(collector, values.get("_timestamp"))
    extra = extra_of(values, time_ns - collector.shift_ns, collector.numbers.skipped)
    values.pop("_timestamp", None)
    collector.rows.append(MetricRow(step, time_ns, collector.kept.of(values), extra=extra))
    return True


def _row_time(collector: _Collector, seconds: Any) -> int:
    """Time of the row, else of the row before it, else of its receipt."""
    time_ns = nanoseconds(seconds)
    if time_ns is not None:
        return time_ns + collector.shift_ns
    return collector.rows[-1].time_ns if collector.rows else collector.now_ns


def _time(collector: _Collector, message: Any, name: str) -> int | None:
    if not message.HasField(name):
        return None
    stamp = getattr(message, name)
    time_ns: int = stamp.seconds * 1_000_000_000 + stamp.nanos + collector.shift_ns
    return time_ns if 0 < stamp.seconds < LAST_TIME_S else None


def _stats(collector: _Collector, data: bytes) -> None:
    message = MESSAGES["Stats"].FromString(data)
    keys, texts = items_of(message.item)
    values = dict[str, float]()
    for key, value in zip(keys, decode_all(texts), strict=True):
        collector.numbers.add(values, f"system/{collector.numbers.names[key]}", value)
    if values:
        time_ns = _time(collector, message, "timestamp") or collector.now_ns
        collector.system.append(SystemSample(time_ns, values))


def _updates(into: dict[bytes, bytes], data: bytes) -> None:
    """Collect key -> JSON text; decoding waits for the end, since most texts are superseded."""
    message = MESSAGES["Updates"].FromString(data)
    into.update(zip(*items_of(message.update), strict=True))
    for key in items_of(message.remove)[0]:
        into.pop(key, None)


def _decoded(updates: Mapping[bytes, bytes]) -> dict[str, Any]:
    values = zip(updates, decode_all(list(updates.values())), strict=True)
    return {key_text(key): storable(value) for key, value in values}


def _summary(collector: _Collector, data: bytes) -> None:
    message = MESSAGES["Updates"].FromString(data)
    keys, texts = items_of(message.update)
    collector.summary.update(zip(map(key_text, keys), decode_all(texts), strict=True))
    for key in items_of(message.remove)[0]:
        collector.summary.pop(key_text(key), None)


def _ready_summary(collector: _Collector, found: Object) -> bool:
    if found.rest:
        return False
    collector.summary.update(found.values)
    return True


def _run(collector: _Collector, data: bytes) -> None:
    message = MESSAGES["Run"].FromString(data)
    _updates(collector.config, message.config)
    for name in ("run_id", "project", "display_name", "entity", "host"):
        value = getattr(message, name).decode("utf-8", "replace").replace("\x00", "")
        if value:
            collector.run[name] = value[:500]
    started_ns = _time(collector, message, "start_time")
    if started_ns is not None:
        collector.run["started_ns"] = started_ns
    collector.run["resumed"] = bool(message.resumed)
    if commit := message.git.commit.decode("utf-8", "replace")[:200]:
        collector.config[b"wandb/commit"] = msgspec.json.encode(commit)


def _environment(collector: _Collector, data: bytes) -> None:
    message = MESSAGES["Environment"].FromString(data)
    for name in ("host", "writer_id"):
        value = getattr(message, name).decode("utf-8", "replace").replace("\x00", "")
        if value:
            collector.run[name] = value[:500]


def _output(collector: _Collector, data: bytes) -> None:
    """Pieces as the process wrote them -> whole lines per stream."""
    message = MESSAGES["Output"].FromString(data)
    stream = "stdout" if message.output_type == 1 else "stderr"
    time_ns = _time(collector, message, "timestamp") or collector.now_ns
    begun_ns, pieces = collector.open_lines.pop(stream, (time_ns, []))
    *ends, rest = message.line.split(b"\n")
    for end in ends:
        collector.console.append(ConsoleLine(begun_ns, stream, _line([*pieces, end])))
        begun_ns, pieces = time_ns, []
    if rest:
        pieces.append(rest)
    if pieces:
        collector.open_lines[stream] = (begun_ns, pieces)


def _close_lines(collector: _Collector) -> None:
    for stream, (time_ns, pieces) in sorted(collector.open_lines.items()):
        collector.console.append(ConsoleLine(time_ns, stream, _line(pieces)))


def _line(pieces: Sequence[bytes]) -> str:
    """What a terminal would show in the end: a progress bar is its last state."""
    raw = b"".join(pieces)
    return raw.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace")


def _exit(collector: _Collector, data: bytes) -> None:
    collector.exit_code = int(MESSAGES["Exit"].FromString(data).exit_code)


def _preempting(collector: _Collector, data: bytes) -> None:
    collector.preempting = True


def _alert(collector: _Collector, data: bytes) -> None:
    """No time is in the record: it gets that of the row before it."""
    message = MESSAGES["Alert"].FromString(data)
    title, text, level = (key_text(getattr(message, name)) for name in ("title", "text", "level"))
    newest = collector.rows[-1] if collector.rows else None
    collector.alerts.append(
        ScriptAlert(
            title=cut(title, TITLE_LENGTH) or "untitled",
            text=cut(text, TEXT_LENGTH),
            severity=ALERT_LEVELS.get(level.upper(), FindingSeverity.INFO),
            wait_ns=wait_ms(message.wait_ms) * 1_000_000,
            at_ns=newest.time_ns if newest else collector.now_ns,
            step=newest.step if newest else None,
            copied=True,
        )
    )


def _left_out(kind: str) -> Callable[[_Collector, bytes], None]:
    """A record that Lastgood does not keep: it is counted."""

    def reader(collector: _Collector, data: bytes) -> None:
        collector.numbers.skipped[kind] += 1

    return reader


def _ignore(collector: _Collector, data: bytes) -> None:
    """A record without facts for Lastgood (files, telemetry, metric definitions, ...)."""


_READERS: Mapping[int, Callable[[_Collector, bytes], None]] = {
    2: _history,
    3: _summary,
    4: _output,
    5: lambda collector, data: _updates(collector.config, data),
    7: _stats,
    13: _output,
    17: _run,
    18: _exit,
    8: _left_out("artifact"),
    9: _left_out("tensorboard folder"),
    10: _alert,
    23: _preempting,
    25: _left_out("use of an artifact"),
    26: _environment,
} | dict.fromkeys((6, 11, 12, 20, 21, 22, 24, 27, 100), _ignore)
_READY: Mapping[int, Callable[[_Collector, Object], bool]] = {
    2: _ready_history,
    3: _ready_summary,
}
"""Kinds that are read many at once; False leaves a record to _READERS."""
