"""The lines of a segment as text, found for the whole segment at once. Plain Python and NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.reading.lines import clean
from apps.logs.domain.reading.pieces import MAX_LINE_BYTES
from apps.logs.domain.reading.shapes import shaped

_NEWLINE = ord("\n")


@dataclass(frozen=True, slots=True)
class LineText:
    """n lines of text. data: UTF-8. start, end: int64[n], their bytes in it. shapes: of each."""

    data: bytes
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    shapes: list[bytes]

    def text(self, number: int) -> str:
        """One line."""
        return self.data[int(self.start[number]) : int(self.end[number])].decode("utf-8", "replace")

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class RawText:
    """places: int64[n], offset of each line in its file. originals: line -> its bytes in the file,
    where the text is not the same."""

    text: LineText
    places: NDArray[np.int64]
    originals: dict[int, bytes] = field(default_factory=dict)
    invalid_bytes: int = 0


def raw_text(data: bytes, offset: int) -> RawText | None:
    """The lines of `data`, which begins at `offset`; None if one is huge."""
    if _is_plain(data):
        text = line_text(data)
        huge = (text.end - text.start).max(initial=0) > MAX_LINE_BYTES
        return None if huge else RawText(text, text.start + offset)
    raws = data.split(b"\n")
    if not raws[-1]:
        raws.pop()
    if max(map(len, raws), default=0) > MAX_LINE_BYTES:
        return None
    cleaned = [(raw, 0) if _is_plain(raw) else clean(raw) for raw in raws]
    texts = [text for text, _ in cleaned]
    places = accumulate((len(raw) + 1 for raw in raws), initial=offset)
    return RawText(
        line_text(b"".join(text + b"\n" for text in texts)),
        np.array(list(places)[:-1], dtype=np.int64),
        {at: raw for at, (raw, text) in enumerate(zip(raws, texts, strict=True)) if raw != text},
        sum(invalid for _, invalid in cleaned),
    )


def line_text(data: bytes) -> LineText:
    """The lines of UTF-8 data."""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE)
    shapes = shaped(data).split(b"\n")
    if data.endswith(b"\n") or not data:
        shapes.pop()
    else:
        ends = np.append(ends, len(data))
    return LineText(data, np.append(0, ends[:-1] + 1)[: len(ends)], ends, shapes)


def _is_plain(data: bytes) -> bool:
    """Whether the bytes are text as they are."""
    if b"\r" in data or b"\x1b" in data or b"\0" in data:
        return False
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
