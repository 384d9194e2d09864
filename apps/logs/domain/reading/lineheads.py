"""The heads of many lines at once, each line seen alone: time, level, rank, step, severity.

Lines whose shape has a reading are read as columns (readings.py); the others one by one, exactly.
What depends on the lines around (a traceback, the time of a line without one) is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.reading.columns import NO_RANK, NO_STEP
from apps.logs.domain.reading.envelopes import Envelopes
from apps.logs.domain.reading.facts import may_place, step_span
from apps.logs.domain.reading.headers import Clock, read_headers
from apps.logs.domain.reading.joblines import told_by
from apps.logs.domain.reading.rawtext import LineText
from apps.logs.domain.reading.readings import (
    NO_FORM,
    ROW,
    UNKNOWN,
    Form,
    ShapeBook,
    book,
    hidden_hex,
)
from apps.logs.domain.reading.segments import ParsePolicy
from apps.logs.domain.reading.severities import severity_alone

Rows = NDArray[np.void]
Ints = NDArray[np.int64]
_STAMP_DIGITS = np.array([0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18])
_STAMP_BYTES = 19
_NS = 1_000_000_000
_ZERO = ord("0")
_BLANK = np.zeros((), dtype=ROW)
_BLANK["form"] = NO_FORM


@dataclass(slots=True)
class LineHeads:
    """Columns of n lines. shape: index into shapes. row: as in readings.ROW; of lines that were
    read one by one too.

    time_ns: where `timed`. rank, local_rank, step: -1 = none. labels: line -> name of a process
    that has no rank there.
    """

    shape: NDArray[np.int32]
    shapes: list[bytes]
    row: Rows
    timed: NDArray[np.bool_]
    time_ns: Ints
    rank: Ints
    local_rank: Ints
    step: Ints
    labels: dict[int, str] = field(default_factory=dict)


def read_heads(lines: LineText, clock: Clock, policy: ParsePolicy, *, tee: bool) -> LineHeads:
    """The heads. clock: for the file that the lines are of. Cost: about 0.6 microseconds a line."""
    known = book(tee=tee, tasks_are_ranks=policy.tasks_are_ranks)
    count = len(lines)
    number = np.fromiter(
        map(known.number.get, lines.shapes, repeat(UNKNOWN)), dtype=np.int64, count=count
    )
    shape, shapes = _shapes(lines, number, known)
    keys = _hidden(lines, number, known)
    row = known.rows[number]
    usable = row["usable"] & (number != UNKNOWN)
    row[~usable] = _BLANK
    data = np.frombuffer(lines.data, dtype=np.uint8)
    stamps = _Stamps(data, lines.start, row, clock, list(known.forms))
    usable &= stamps.valid
    heads = LineHeads(
        shape=shape,
        shapes=shapes,
        row=row,
        timed=usable & (row["form"] >= 0),
        time_ns=stamps.time_ns,
        rank=_numbers(data, lines.start, row, "rank", NO_RANK),
        local_rank=_numbers(data, lines.start, row, "local", NO_RANK),
        step=_numbers(data, lines.start, row, "step", NO_STEP),
    )
    one_by_one = np.flatnonzero(~usable)
    if len(one_by_one):
        _Exact(known, policy, clock, keys).read(lines, one_by_one, heads)
    return heads


def _shapes(
    lines: LineText, number: Ints, known: ShapeBook
) -> tuple[NDArray[np.int32], list[bytes]]:
    """(shape of each line: index into the shapes, shapes). number: of their readings."""
    met = number != UNKNOWN
    used = np.flatnonzero(np.bincount(number[met]))
    place = np.zeros(len(known.names) + 1, dtype=np.int32)
    place[used] = np.arange(len(used))
    shape = place[number]
    names = [known.names[at] for at in used.tolist()]
    others: dict[bytes, int] = {}
    for at in np.flatnonzero(~met).tolist():
        shape[at] = others.setdefault(lines.shapes[at], len(others)) + len(names)
    return shape, [*names, *others]


def _hidden(lines: LineText, number: Ints, known: ShapeBook) -> dict[int, bytes]:
    """Line -> its key, of lines whose shape is not known; finds their readings by it."""
    missing = np.flatnonzero(number == UNKNOWN).tolist()
    if not missing:
        return {}
    keys = dict(zip(missing, hidden_hex([lines.shapes[at] for at in missing]), strict=True))
    for at, key in keys.items():
        number[at] = known.find(lines.shapes[at], key)
    return keys


def _numbers(data: NDArray[np.uint8], start: Ints, row: Rows, name: str, none: int) -> Ints:
    """The numbers whose digits stand at `name`_at; `none` where there is none."""
    found = np.full(len(row), none, dtype=np.int64)
    size = row[f"{name}_size"]
    for width in np.flatnonzero(np.bincount(size)).tolist():
        if width:
            here = np.flatnonzero(size == width)
            found[here] = _decimal(data, start[here] + row[f"{name}_at"][here], width)
    return found


def _decimal(data: NDArray[np.uint8], at: Ints, width: int) -> Ints:
    """The numbers of `width` digits at these places."""
    value = np.zeros(len(at), dtype=np.int64)
    for place in range(width):
        value = value * 10 + (data[at + place] - _ZERO)
    return value


class _Stamps:
    """Times of the stamps. valid: False where a stamp names no moment."""

    def __init__(
        self, data: NDArray[np.uint8], start: Ints, row: Rows, clock: Clock, forms: list[Form]
    ) -> None:
        self.time_ns = np.zeros(len(row), dtype=np.int64)
        self.valid = np.ones(len(row), dtype=np.bool_)
        self._data, self._clock = data, clock
        form = row["form"]
        for number in np.flatnonzero(np.bincount(form + 1)).tolist():
            if number:
                here = np.flatnonzero(form == number - 1)
                self._read(here, start[here] + row["stamp_at"][here], forms[number - 1])

    def _read(self, here: Ints, at: Ints, form: Form) -> None:
        digits = (self._data[at[:, None] + _STAMP_DIGITS] - _ZERO).astype(np.int32).T
        days = digits[0]
        for column in digits[1:8]:
            days = days * 10 + column
        hour, minute, second = (digits[n] * 10 + digits[n + 1] for n in (8, 10, 12))
        day_ns, exists = self._days(days)
        times = day_ns + ((hour * 60 + minute).astype(np.int64) * 60 + second) * _NS
        self.valid[here] = exists & (hour <= 23) & (minute <= 59) & (second <= 60)
        after = at + _STAMP_BYTES
        if form.fraction:
            scale = 10 ** (9 - form.fraction)
            times += _decimal(self._data, after + 1, form.fraction) * scale
            after = after + 1 + form.fraction
        self.time_ns[here] = times - self._zone_ns(after, form.zone)

    def _days(self, days: NDArray[np.int32]) -> tuple[Ints, NDArray[np.bool_]]:
        """Midnights of dates like 20261129, and whether they exist."""
        if len(days) and (days == days[0]).all():
            only = self._midnight(int(days[0]))
            return np.full(len(days), only or 0), np.full(len(days), only is not None)
        dates, which = np.unique(days, return_inverse=True)
        found = [self._midnight(date) for date in dates.tolist()]
        times = np.array([at or 0 for at in found], dtype=np.int64)
        return times[which], np.array([at is not None for at in found])[which]

    def _midnight(self, date: int) -> int | None:
        text = f"{date:08d}"
        return self._clock.iso(f"{text[:4]}-{text[4:6]}-{text[6:]} 00:00:00", None, "Z")

    def _zone_ns(self, at: Ints, zone: str) -> Ints | int:
        if zone == "Z":
            return 0
        if not zone:
            return self._clock.zone_offset_ns
        minutes_at = at + len(zone) - 2
        east = _decimal(self._data, at + 1, 2) * 3600 + _decimal(self._data, minutes_at, 2) * 60
        return (east if zone[0] == "+" else -east) * _NS


class _Exact:
    """Reads lines one by one and lets the book meet them."""

    def __init__(
        self, known: ShapeBook, policy: ParsePolicy, clock: Clock, keys: dict[int, bytes]
    ) -> None:
        self.book, self.clock, self.keys = known, clock, keys
        self.tasks_are_ranks = policy.tasks_are_ranks

    def read(self, lines: LineText, numbers: Ints, heads: LineHeads) -> None:
        """The heads of the lines with these numbers."""
        texts = [lines.text(number) for number in numbers.tolist()]
        tee = self.book.tee
        found = read_headers(texts, self.clock, tee=tee, tasks_are_ranks=self.tasks_are_ranks)
        heads.timed[numbers] = [own is not None for own in found.time_ns]
        heads.time_ns[numbers] = [own or 0 for own in found.time_ns]
        heads.rank[numbers] = [NO_RANK if r is None else r for r in found.rank]
        heads.local_rank[numbers] = [NO_RANK if r is None else r for r in found.local_rank]
        heads.step[numbers] = [_step(body) for body in found.body]
        heads.labels |= {int(numbers[at]): label for at, label in found.labels.items()}
        rows = zip(texts, found.body, found.level, found.local_rank, strict=True)
        heads.row[numbers] = np.array([self._row(*one) for one in rows], dtype=ROW)
        for number, text in zip(numbers.tolist(), texts, strict=True):
            if number in self.keys:
                self.book.meet(self.keys[number], text)

    def _row(self, text: str, body: str, level: int | None, local: int | None) -> tuple[Any, ...]:
        alone = severity_alone(body, in_console=self.book.tee and local is None)
        at = len(text) - len(body)
        levelled = level is not None
        enveloped = text[:1] == "{" or (
            "std" in text[:60] and Envelopes({}, self.clock).open(text) is not None
        )
        return (
            False,
            levelled,
            alone.severity if level is None else level,
            alone.opens and not levelled,
            alone.quotes and not levelled,
            "step " in body and "=" in body,
            may_place(body),
            enveloped,
            told_by(body),
            at if text.isascii() else len(text[:at].encode("utf-8", "replace")),
            *(0,) * 8,
        )


def _step(body: str) -> int:
    span = step_span(body)
    return NO_STEP if span is None else int(body[span[0] : span[1]])
