"""Records of a TensorBoard event file -> metric rows and configuration. Pure, no Django."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import DecodeError

from apps.core.records import MetricRow
from apps.ingest.pieces import PieceHeader, open_pieces
from apps.ingest.tensorboard.descriptor import MESSAGES
from apps.ingest.wandb.values import LAST_TIME_S, key_text, storable
from apps.metrics.domain.steps import LAST_STEP

MAX_TAG_CHARS = 400
_SESSION_START = 1
_PLUGINS: Final = frozenset(
    (
        b"text",
        b"images",
        b"audio",
        b"histograms",
        b"pr_curves",
        b"mesh",
        b"custom_scalars",
        b"graphs",
    )
)
_OTHER_AXIS = (" vs samples", " vs tokens")
# DataType of TensorFlow's types.proto -> (field with the value, struct format of the raw content).
_DTYPES: Final = {
    1: ("float_val", "<f"),
    2: ("double_val", "<d"),
    3: ("int_val", "<i"),
    4: ("int_val", "<B"),
    5: ("int_val", "<h"),
    6: ("int_val", "<b"),
    9: ("int64_val", "<q"),
    10: ("bool_val", "<?"),
    14: ("half_val", "<H"),
    17: ("int_val", "<H"),
    19: ("half_val", "<H"),
    22: ("uint32_val", "<I"),
    23: ("uint64_val", "<Q"),
}
_BFLOAT16, _HALF = 14, 19
_ANY = ("number", "text", "truth")


class EventHeader(PieceHeader, frozen=True):
    """under: put before the tags, for files in a folder of their own ("validation")."""

    under: str = ""


@dataclass(frozen=True, slots=True)
class EventBody:
    """A posted body, opened. records: protobuf payloads; b"" for one that could not be read."""

    header: EventHeader
    records: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class EventBatch:
    """What a sequence of events says.

    rows: neighbouring events of one step are one row, with the time of the first. config: what
    the hparams plugin says, strict JSON. skipped: what is not stored, by kind. resumed: (step,
    time) where a writer said that it goes on from a step and what was later is void.
    """

    rows: tuple[MetricRow, ...]
    config: Mapping[str, Any]
    skipped: Mapping[str, int]
    resumed: tuple[int, int] | None
    first_ns: int | None


@dataclass(slots=True)
class _Collector:
    now_ns: int
    shift_ns: int
    under: str
    rows: list[tuple[int, int, dict[str, float]]] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    resumed: tuple[int, int] | None = None
    first_ns: int | None = None
    usual: dict[bytes, str] = field(default_factory=dict)


def parse_body(body: bytes) -> EventBody:
    """Open a body; BadPayload names the field at fault."""
    return EventBody(*open_pieces(body, EventHeader))


def decode(
    records: Sequence[bytes], *, now_ns: int, shift_ns: int = 0, under: str = ""
) -> EventBatch:
    """Read events in file order; one that cannot be read is counted, the rest go on.

    now_ns: time of an event that has none. shift_ns is added to every time read. Scalars of any
    number type are values, and the figures of a histogram (`tag/mean` ...). A tag drawn over
    another axis ("... vs samples") is left out: its numbers stand under the step as well.
    About 200,000 scalars per CPU second.
    """
    collector = _Collector(now_ns, shift_ns, f"{under}/" if under else "")
    event_of = MESSAGES["Event"].FromString
    for record in records:
        try:
            event = event_of(record) if record else None
        except DecodeError:
            event = None
        if event is None:
            collector.skipped["unread record"] += 1
        else:
            _event(collector, event)
    return EventBatch(
        rows=tuple(MetricRow(step, time_ns, values) for step, time_ns, values in collector.rows),
        config=collector.config,
        skipped=dict(collector.skipped),
        resumed=collector.resumed,
        first_ns=collector.first_ns,
    )


def _event(collector: _Collector, event: Any) -> None:
    time_ns, wall_s = collector.now_ns, event.wall_time
    if 0 < wall_s < LAST_TIME_S:
        time_ns = round(wall_s * 1e6) * 1000 + collector.shift_ns
    if collector.first_ns is None:
        collector.first_ns = time_ns
    step, values = event.step, dict[str, float]()
    if event.HasField("session_log") and event.session_log.status == _SESSION_START and step > 0:
        collector.resumed = (step, time_ns)
    for value in event.summary.value:
        # The usual scalar first: 99 of 100 values.
        name = collector.usual.get(value.tag)
        if name and value.HasField("simple") and not value.HasField("metadata"):
            values[name] = value.simple
        else:
            _value(collector, value, values)
    if values and not 0 <= step <= LAST_STEP:
        collector.skipped["row without a step"] += 1
    elif values:
        _add(collector, step, time_ns, values)


def _add(collector: _Collector, step: int, time_ns: int, values: dict[str, float]) -> None:
    """Into the row before if that is of the same step and has none of these names."""
    if collector.rows:
        last_step, _, last = collector.rows[-1]
        if last_step == step and last.keys().isdisjoint(values):
            last.update(values)
            return
    collector.rows.append((step, time_ns, values))


def _value(collector: _Collector, value: Any, into: dict[str, float]) -> None:
    plugin = value.metadata.plugin
    name = _name(collector, value.tag)
    if plugin.name == b"hparams":
        _hparams(collector, plugin.content)
    elif name.endswith(_OTHER_AXIS):
        collector.skipped["other axis"] += 1
    elif len(name) > MAX_TAG_CHARS or not name:
        collector.skipped["long or empty tag"] += 1
    elif value.HasField("histogram"):
        _histogram(name, value.histogram, into)
    elif value.HasField("tensor"):
        number = _scalar(value.tensor) if plugin.name in (b"scalars", b"") else None
        if number is None:
            collector.skipped[_kind(plugin.name)] += 1
        else:
            into[name] = number
    elif value.HasField("simple"):
        collector.usual[value.tag] = name
        into[name] = value.simple
    else:
        collector.skipped[_medium(value)] += 1


def _medium(value: Any) -> str:
    media = [name for name in ("image", "audio") if value.HasField(name)]
    return media[0] if media else "no value"


def _name(collector: _Collector, tag: bytes) -> str:
    return collector.under + key_text(tag) if tag else ""


def _kind(plugin: bytes) -> str:
    """A sender's names never become names of counters."""
    return key_text(plugin) if plugin in _PLUGINS else "tensor"


def _histogram(name: str, found: Any, into: dict[str, float]) -> None:
    """The figures that a W&B histogram gets too (metrics.domain.histograms), here exact."""
    if not found.num > 0:
        return
    mean, square = found.sum / found.num, found.sum_squares / found.num
    into[f"{name}/mean"] = mean
    into[f"{name}/std"] = math.sqrt(max(square - mean * mean, 0.0))
    into[f"{name}/rms"] = math.sqrt(max(square, 0.0))
    into[f"{name}/max_abs"] = max(abs(found.min), abs(found.max))
    into[f"{name}/norm"] = math.sqrt(max(found.sum_squares, 0.0))


def _scalar(tensor: Any) -> float | None:
    """The number of a tensor with one element, None for any other."""
    known = _DTYPES.get(tensor.dtype)
    if known is None or math.prod(dim.size for dim in tensor.shape.dim) != 1:
        return None
    numbers, raw = getattr(tensor, known[0]), known[1]
    if len(numbers) == 1:
        number = numbers[0]
    elif len(tensor.content) == struct.calcsize(raw):
        (number,) = struct.unpack(raw, tensor.content)
    else:
        return None
    if tensor.dtype == _BFLOAT16:
        number = struct.unpack("<f", struct.pack("<I", (number & 0xFFFF) << 16))[0]
    elif tensor.dtype == _HALF:
        number = struct.unpack("<e", struct.pack("<H", number & 0xFFFF))[0]
    return float(number)


def _hparams(collector: _Collector, content: bytes) -> None:
    try:
        found = MESSAGES["HparamsData"].FromString(content)
    except DecodeError:
        collector.skipped["hparams"] += 1
        return
    for entry in found.start.hparams:
        said = [getattr(entry.value, kind) for kind in _ANY if entry.value.HasField(kind)]
        value = said[0] if said else None
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        collector.config[key_text(entry.key)[:MAX_TAG_CHARS]] = storable(text)
