"""JSON lines that are all written alike, read as columns: what parse.py reads, at a tenth of the
cost.

Most shippers write every line with the same fields in the same order, the time first and the text
last. Then a body falls into times, what stands between, and texts by looking for three pieces of
text in it. What stands between says place and level, and there are few different ones: each is
read once, by parse.py. Plain Python and NumPy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from apps.ingest import entries, readings
from apps.ingest.entries import EntryBatch, Group, Place
from apps.logs.domain.reading.entrycolumns import NOT_SAID, EntryColumns

FEW_BYTES = 16_000
"""Below it reading one by one is as fast."""
MAX_KINDS = 5_000
"""Different texts between time and text in one body."""
MAX_FIRST_BYTES = 64 << 10
_TIMES = ("ts", "time", "timestamp")
_TEXTS = ("msg", "message", "body")
_CUT = b"\0"
_FIRST_PRINTED = 32
_TEXT = msgspec.json.Decoder(str)
_OBJECT = msgspec.json.Decoder(dict[str, object])
_WHOLE_SECONDS = len("2026-11-29T19:46:03Z")
_STAMP = re.compile(rb'\d{4}-\d\d-\d\d[ Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?[Zz]"')


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Lines of one place that all say their time; as entries.Group, in columns."""

    place: Place
    columns: EntryColumns

    def __len__(self) -> int:
        return len(self.columns)

    def first_ns(self) -> int | None:
        """The earliest time that is said."""
        return int(self.columns.time_ns.min()) if len(self) else None


@dataclass(frozen=True, slots=True)
class ColumnBatch:
    """What one body holds for one run; as entries.EntryBatch, but it is written by itself."""

    groups: Sequence[ColumnGroup]
    counts: Mapping[str, int]
    project: str = ""


def join(first: EntryBatch | ColumnBatch, second: EntryBatch | ColumnBatch) -> Any:
    """Both as one, as entries.join(); None also for two of different kinds."""
    if isinstance(first, EntryBatch) and isinstance(second, EntryBatch):
        return entries.join(first, second)
    if isinstance(first, EntryBatch) or isinstance(second, EntryBatch):
        return None
    if sum(map(len, (*first.groups, *second.groups))) > entries.MAX_JOINED:
        return None
    groups = entries.by_place(first.groups, second.groups, _longer)
    return ColumnBatch(groups, Counter(first.counts) + Counter(second.counts))


def _longer(held: ColumnGroup, more: ColumnGroup) -> ColumnGroup:
    one, other = held.columns, more.columns
    return ColumnGroup(
        held.place,
        EntryColumns(
            np.concatenate((one.time_ns, other.time_ns)),
            np.concatenate((one.severity, other.severity)),
            [*one.text, *other.text],
            one.rank,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """What stands around the time and before the text, in every line."""

    time: bytes
    text: bytes


def read_columns(
    body: bytes, read_line: Callable[[bytes], tuple[Group, Mapping[str, int]]]
) -> ColumnBatch | None:
    """The lines of a body; None if they are not all written alike. read_line: reads one exactly."""
    if len(body) < FEW_BYTES:
        return None
    whole = body if body.endswith(b"\n") else body + b"\n"
    first = whole[: whole.index(b"\n")]
    frame = _frame(first) if len(first) <= MAX_FIRST_BYTES else None
    if frame is None or not _is_plain(whole):
        return None
    parts = _parts(whole, frame)
    if parts is None:
        return None
    middles, texts = parts
    size = len(middles[0].partition(b'"')[0])
    times = _times(middles, size)
    if times is None:
        return None
    return _grouped(
        _Parts(frame, times, [one[size:] for one in middles], texts), middles, read_line
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """The lines, taken apart. kinds: what stands between time and text."""

    frame: _Frame
    time_ns: NDArray[np.int64]
    kinds: Sequence[bytes]
    texts: Sequence[bytes]


def _frame(line: bytes) -> _Frame | None:
    """The frame of the first line, if its time is its first field and its text its last one."""
    try:
        fields = _OBJECT.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    names = list(fields)
    if len(names) < 2 or names[0] not in _TIMES or names[-1] not in _TEXTS:
        return None
    frame = _Frame(f'{{"{names[0]}":"'.encode(), f',"{names[-1]}":"'.encode())
    return frame if line.startswith(frame.time) and line.count(frame.text) == 1 else None


def _is_plain(body: bytes) -> bool:
    """Whether it is UTF-8 without control characters, which no JSON has inside a text."""
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            return False
    low = np.frombuffer(body, dtype=np.uint8) < _FIRST_PRINTED
    return int(np.count_nonzero(low)) == body.count(b"\n")


def _parts(body: bytes, frame: _Frame) -> tuple[list[bytes], list[bytes]] | None:
    """(what stands between the beginning and the text of each line, texts)."""
    count = body.count(b"\n")
    marked = body.replace(b'"}\n' + frame.time, _CUT).replace(frame.text, _CUT)
    pieces = marked[len(frame.time) : -len(b'"}\n')].split(_CUT)
    if len(pieces) != 2 * count or not body.startswith(frame.time) or not body.endswith(b'"}\n'):
        return None
    texts = _unescaped(pieces[1::2])
    return None if texts is None else (pieces[0::2], texts)


def _unescaped(texts: list[bytes]) -> list[bytes] | None:
    """The texts as they were before somebody wrote them as JSON; None if one is none."""
    marked = [at for at, text in enumerate(texts) if b"\\" in text]
    escaped = [texts[at] for at in marked]
    found = list(texts)
    for at in marked:
        found[at] = b""
    if b'"' in b"".join(found):
        return None
    opened = _with_quotes(escaped) or _decoded(escaped)
    if opened is None or b"\n" in b"".join(opened):
        return None
    for at, text in zip(marked, opened, strict=True):
        found[at] = text
    return found


def _with_quotes(texts: list[bytes]) -> list[bytes] | None:
    """Texts that have no other escapes than those of quotes; None for others."""
    joined = b"\n".join(texts)
    plain = joined.replace(b'\\"', b'"')
    if b"\\" in plain or joined.count(b'"') != len(joined) - len(plain):
        return None
    return plain.split(b"\n") if texts else []


def _decoded(texts: list[bytes]) -> list[bytes] | None:
    try:
        return [_TEXT.decode(b'"' + text + b'"').encode("utf-8", "replace") for text in texts]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _times(middles: Sequence[bytes], size: int) -> NDArray[np.int64] | None:
    """Times that are all written alike, as RFC 3339 in UTC; None if one is not."""
    stamps = b"".join([one[: size + 1] for one in middles])
    first = stamps[: size + 1]
    fraction = size - _WHOLE_SECONDS - 1
    if _STAMP.fullmatch(first) is None or len(stamps) != len(middles) * (size + 1):
        return None
    written = np.frombuffer(stamps, dtype=np.uint8).reshape(-1, size + 1)
    is_digit = np.array([48 <= one < 58 for one in first])
    digits = written[:, is_digit] - 48
    if (digits > 9).any() or (written != written[0])[:, ~is_digit].any():
        return None
    days, which = np.unique(_decimal(digits[:, :8]), return_inverse=True)
    midnights = [readings.time_ns(_midnight(day)) for day in days.tolist()]
    hour, minute, second = (_decimal(digits[:, at : at + 2]) for at in (8, 10, 12))
    if None in midnights or max(hour.max() - 23, minute.max() - 59, second.max() - 60) > 0:
        return None
    parts = _decimal(digits[:, 14:]) * 10 ** (9 - fraction) if fraction > 0 else 0
    clock = ((hour * 60 + minute) * 60 + second) * 1_000_000_000
    times: NDArray[np.int64] = np.array(midnights, dtype=np.int64)[which] + clock + parts
    return times


def _midnight(day: int) -> str:
    text = f"{day:08d}"
    return f"{text[:4]}-{text[4:6]}-{text[6:]}T00:00:00Z"


def _decimal(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The numbers that the rows of digits are."""
    value = np.zeros(len(digits), dtype=np.int64)
    for column in digits.T:
        value = value * 10 + column
    return value


def _grouped(
    parts: _Parts,
    middles: Sequence[bytes],
    read_line: Callable[[bytes], tuple[Group, Mapping[str, int]]],
) -> ColumnBatch | None:
    """The lines by place; each kind is read exactly, once."""
    kinds = {one: number for number, one in enumerate(dict.fromkeys(parts.kinds))}
    count = len(parts.kinds)
    kind = np.fromiter(map(kinds.__getitem__, parts.kinds), dtype=np.int64, count=count)
    if len(kinds) > MAX_KINDS:
        return None
    lines = np.bincount(kind)
    _, example = np.unique(kind, return_index=True)
    places: dict[Place, int] = {}
    place, severity = [], []
    counts: Counter[str] = Counter()
    for number, at in enumerate(example.tolist()):
        line = parts.frame.time + middles[at] + parts.frame.text + b'"}'
        group, odd = read_line(line)
        if group.time_ns != [int(parts.time_ns[at])] or group.step != [None] or group.text != [""]:
            return None
        place.append(places.setdefault(group.place, len(places)))
        severity.append(group.severity[0] or NOT_SAID)
        counts.update({name: times * int(lines[number]) for name, times in odd.items()})
    of_line = np.array(place)[kind]
    order = np.argsort(of_line, kind="stable")
    bounds = np.searchsorted(of_line[order], np.arange(len(places) + 1))
    times, levels = parts.time_ns[order], np.array(severity, dtype=np.uint8)[kind][order]
    texts = list(map(parts.texts.__getitem__, order.tolist()))
    groups = [
        ColumnGroup(one, EntryColumns(times[a:b], levels[a:b], texts[a:b], one.rank))
        for one, a, b in zip(places, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]
    return ColumnBatch(groups, dict(counts))
