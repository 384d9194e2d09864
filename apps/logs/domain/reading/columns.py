"""Lines of one node as NumPy columns: what the store writes, without an object a line.

The text of a line is kept as shape and digits (shapes.py). LineTable is the same as lists, for
code that makes lines one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from apps.core.records import LogLine, Severity
from apps.logs.domain.reading.shapes import all_filled, apart, digit_counts, filled
from apps.logs.domain.reading.table import LineTable

NO_RANK = -1
NO_STEP = -1
MAX_ORIGINS = 1 << 16
_INSIDE = frozenset((b"", b" ", b"\t", b"^"))


class Origin(msgspec.Struct, frozen=True, array_like=True):
    """Where lines come from: file, channel, local rank."""

    source: str
    channel: str
    local_rank: int | None


@dataclass(slots=True, eq=False)
class LineColumns(Sequence[LogLine]):
    """Lines, those of a file together and in file order. Columns have equal length n.

    origin: uint16, index into origins. time_ns, seq, step: int64; rank: int32; step and rank -1 =
    none. severity: uint8. message_at: int32, how many bytes of the text are prefixes. shape: int32,
    index into shapes. digits: of all lines, one after the other. originals: line -> its bytes in
    the file, where the text is not the same.
    """

    origins: tuple[Origin, ...]
    origin: NDArray[np.uint16]
    time_ns: NDArray[np.int64]
    seq: NDArray[np.int64]
    rank: NDArray[np.int32]
    severity: NDArray[np.uint8]
    step: NDArray[np.int64]
    message_at: NDArray[np.int32]
    shape: NDArray[np.int32]
    shapes: list[bytes]
    digits: bytes
    originals: dict[int, bytes] = field(default_factory=dict)
    _digit_at: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, table: LineTable | LineColumns) -> LineColumns:
        """The lines of a table."""
        if isinstance(table, LineColumns):
            return table
        origins: dict[Origin, int] = {}
        origin = [
            origins.setdefault(Origin(table.source, channel, local), len(origins))
            for channel, local in zip(table.channel, table.local_rank, strict=True)
        ]
        if len(origins) > MAX_ORIGINS:
            raise ValueError(f"more than {MAX_ORIGINS} origins")
        shape, shapes, digits = apart([text.encode("utf-8", "replace") for text in table.text])
        prefixes = [
            at if text.isascii() else len(text[:at].encode("utf-8", "replace"))
            for text, at in zip(table.text, table.message_at, strict=True)
        ]
        return cls(
            origins=tuple(origins),
            origin=np.array(origin, dtype=np.uint16),
            time_ns=np.array(table.time_ns, dtype=np.int64),
            seq=np.array(table.seq, dtype=np.int64),
            rank=np.array([NO_RANK if r is None else r for r in table.rank], dtype=np.int32),
            severity=np.array(table.severity, dtype=np.uint8),
            step=np.array([NO_STEP if s is None else s for s in table.step], dtype=np.int64),
            message_at=np.array(prefixes, dtype=np.int32),
            shape=shape,
            shapes=shapes,
            digits=digits,
            originals=dict(table.originals),
        )

    @property
    def digit_at(self) -> NDArray[np.int64]:
        """Where the digits of each line begin; n + 1 places."""
        if self._digit_at is None:
            counts = digit_counts(self.shapes)[self.shape]
            self._digit_at = np.concatenate(([0], np.cumsum(counts)))
        return self._digit_at

    @property
    def text_bytes(self) -> NDArray[np.int64]:
        """Bytes of each text."""
        sizes = np.fromiter(map(len, self.shapes), dtype=np.int64, count=len(self.shapes))
        return sizes[self.shape]

    @property
    def next_seq(self) -> NDArray[np.int64]:
        """Where the line behind each one begins, in a file of nothing but these lines."""
        sizes = self.text_bytes
        for at, raw in self.originals.items():
            sizes[at] = len(raw)
        return self.seq + sizes + 1

    def raw(self, number: int) -> bytes:
        """UTF-8 bytes of the text of one line."""
        start, end = self.digit_at[number : number + 2].tolist()
        return filled(self.shapes[int(self.shape[number])], self.digits[start:end])

    def all_digits(self) -> bytes:
        """Of all lines, one after the other."""
        return self.digits

    def text(self, number: int) -> str:
        """Text of one line."""
        return self.raw(number).decode("utf-8", "replace")

    def message(self, number: int) -> str:
        """Text of one line without its prefixes."""
        return self.raw(number)[int(self.message_at[number]) :].decode("utf-8", "replace")

    def messages(self, numbers: Sequence[int] | NDArray[np.intp]) -> list[str]:
        """The same of many lines."""
        numbers = np.asarray(numbers, dtype=np.intp)
        cut = zip(self.several(numbers), self.message_at[numbers].tolist(), strict=True)
        return [
            text[at:] if text.isascii() else text.encode()[at:].decode("utf-8", "replace")
            for text, at in cut
        ]

    def message_shape(self, number: int) -> bytes:
        """Shape of one message."""
        return self.shapes[int(self.shape[number])][int(self.message_at[number]) :]

    def several(self, numbers: NDArray[np.intp]) -> list[str]:
        """Texts of many lines. About 2 microseconds each."""
        shapes = [self.shapes[at] for at in self.shape[numbers].tolist()]
        places = zip(
            self.digit_at[numbers].tolist(), self.digit_at[numbers + 1].tolist(), strict=True
        )
        digits = b"".join([self.digits[start:end] for start, end in places])
        return [text.decode("utf-8", "replace") for text in all_filled(shapes, digits)]

    def frames(self, numbers: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these lines only continue a traceback: errors that are a frame, a source line,
        a marker."""
        places = zip(self.shape[numbers].tolist(), self.message_at[numbers].tolist(), strict=True)
        inside = [self.shapes[shape][at : at + 1] in _INSIDE for shape, at in places]
        errors: NDArray[np.bool_] = self.severity[numbers] == Severity.ERROR
        return errors & np.array(inside, dtype=np.bool_)

    def line(self, number: int) -> LogLine:
        """One line as a record."""
        origin = self.origin_of(number)
        rank, step = int(self.rank[number]), int(self.step[number])
        return LogLine(
            int(self.time_ns[number]),
            int(self.seq[number]),
            origin.source,
            origin.channel,
            origin.local_rank,
            None if rank == NO_RANK else rank,
            int(self.severity[number]),
            None if step == NO_STEP else step,
            self.text(number),
        )

    def origin_of(self, number: int) -> Origin:
        """Where one line comes from."""
        return self.origins[int(self.origin[number])]

    def rename(self, source: str) -> None:
        """Lines of one file: that has another name."""
        self.origins = tuple(
            Origin(source, origin.channel, origin.local_rank) for origin in self.origins
        )

    @property
    def local_rank(self) -> NDArray[np.int64]:
        """Local rank of each line; -1 = none."""
        ranks = [NO_RANK if o.local_rank is None else o.local_rank for o in self.origins]
        return np.array(ranks, dtype=np.int64)[self.origin]

    def of_channel(self, channel: str) -> NDArray[np.bool_]:
        """Which lines are of a channel."""
        told = np.array([origin.channel == channel for origin in self.origins], dtype=np.bool_)
        return told[self.origin]

    def select(self, keep: Sequence[int] | NDArray[np.int64]) -> LineColumns:
        """The lines with these numbers, in that order."""
        kept = np.asarray(keep, dtype=np.int64)
        at, digits = self.digit_at, self.all_digits()
        pieces = zip(at[kept].tolist(), at[kept + 1].tolist(), strict=True)
        return LineColumns(
            origins=self.origins,
            origin=self.origin[kept],
            time_ns=self.time_ns[kept],
            seq=self.seq[kept],
            rank=self.rank[kept],
            severity=self.severity[kept],
            step=self.step[kept],
            message_at=self.message_at[kept],
            shape=self.shape[kept],
            shapes=self.shapes,
            digits=b"".join([digits[start:end] for start, end in pieces]),
            originals=self._originals_of(kept),
        )

    def _originals_of(self, kept: NDArray[np.int64]) -> dict[int, bytes]:
        if not self.originals:
            return {}
        found = ((new, self.originals.get(old)) for new, old in enumerate(kept.tolist()))
        return {new: raw for new, raw in found if raw is not None}

    def piece(self, start: int, end: int) -> LineColumns:
        """The lines from `start` to before `end`."""
        at = self.digit_at[start : end + 1]
        here = slice(start, end)
        return LineColumns(
            origins=self.origins,
            origin=self.origin[here],
            time_ns=self.time_ns[here],
            seq=self.seq[here],
            rank=self.rank[here],
            severity=self.severity[here],
            step=self.step[here],
            message_at=self.message_at[here],
            shape=self.shape[here],
            shapes=self.shapes,
            digits=self.digits[int(at[0]) : int(at[-1])],
            originals=self._originals_between(start, end),
            _digit_at=at - at[0],
        )

    def _originals_between(self, start: int, end: int) -> dict[int, bytes]:
        if end - start < len(self.originals):
            return self._originals_of(np.arange(start, end))
        return {line - start: raw for line, raw in self.originals.items() if start <= line < end}

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Iterator[LogLine]:
        return map(self.line, range(len(self.seq)))

    @overload
    def __getitem__(self, index: int) -> LogLine: ...
    @overload
    def __getitem__(self, index: slice) -> LineColumns: ...
    def __getitem__(self, index: int | slice) -> LogLine | LineColumns:
        if isinstance(index, slice):
            return self.select(range(*index.indices(len(self.seq))))
        return self.line(range(len(self.seq))[index])


def joined(tables: Sequence[LineColumns]) -> LineColumns:
    """The lines of all tables, one table after the other. ValueError above MAX_ORIGINS."""
    if len(tables) == 1:
        return tables[0]
    origins: dict[Origin, int] = {}
    shapes: dict[bytes, int] = {}
    origin, shape = [], []
    before: list[bytes] = []
    listed: tuple[Origin, ...] = ()
    to = np.zeros(0, dtype=np.uint16)
    to_shape = np.zeros(0, dtype=np.int32)
    for table in tables:
        if table.origins is not listed:  # pieces of one table share them, and its shapes
            places = [origins.setdefault(one, len(origins)) for one in table.origins]
            if len(origins) > MAX_ORIGINS:
                raise ValueError(f"more than {MAX_ORIGINS} origins")
            to, listed = np.array(places, dtype=np.uint16), table.origins
        origin.append(_translated(table.origin, to))
        if table.shapes is not before:
            places = [shapes.setdefault(one, len(shapes)) for one in table.shapes]
            to_shape, before = np.array(places, dtype=np.int32), table.shapes
        shape.append(_translated(table.shape, to_shape))
    starts = np.cumsum([0, *(len(table) for table in tables)]).tolist()
    return LineColumns(
        origins=tuple(origins),
        origin=_whole(origin, np.uint16),
        time_ns=_whole([table.time_ns for table in tables], np.int64),
        seq=_whole([table.seq for table in tables], np.int64),
        rank=_whole([table.rank for table in tables], np.int32),
        severity=_whole([table.severity for table in tables], np.uint8),
        step=_whole([table.step for table in tables], np.int64),
        message_at=_whole([table.message_at for table in tables], np.int32),
        shape=_whole(shape, np.int32),
        shapes=list(shapes),
        digits=b"".join([table.all_digits() for table in tables]),
        originals={
            start + line: raw
            for start, table in zip(starts, tables, strict=False)
            for line, raw in table.originals.items()
        },
    )


def _translated(values: NDArray[Any], to: NDArray[Any]) -> NDArray[Any]:
    return to[values] if len(values) else values


def _whole(parts: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=dtype)
