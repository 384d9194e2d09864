"""Which lines of a chunk hold a text or match a regex, without writing most of them out.

Lines of one shape differ in their digits only (shapes.py). A text is looked for in the shapes; its
digits are then compared with a column of digits for all lines of a shape at once. A regex is tried
on lines whose shape has what every match needs (literals.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.chunk.chunktexts import TURNED_LINES, ShapedTexts, Texts
from apps.logs.domain.query.literals import Required
from apps.logs.domain.query.regexes import LineRegex
from apps.logs.domain.query.sieve import caseless
from apps.logs.domain.reading.shapes import ZERO, digits_of, shaped

Needle = bytes | LineRegex
FEW = 64
"""So many lines are looked at one by one."""
FEW_SHAPES = 32
"""Of so many shapes the lines are found without sorting all lines."""


def holding(texts: Texts, needle: Needle, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the lines in `among` hold the needle; bool[n]."""
    if needle == b"":
        return among
    if isinstance(needle, bytes) and b"\n" in needle:
        return np.zeros(len(among), dtype=np.bool_)
    numbers = np.flatnonzero(among)
    if len(numbers) <= FEW:
        return _of_lines(texts, needle, numbers, len(among))
    if isinstance(texts, ShapedTexts):
        return among & _of_shapes(texts, needle, among)
    if isinstance(needle, bytes):
        return among & texts.containing(needle)
    return _of_lines(texts, needle, numbers, len(among))


def _of_lines(
    texts: Texts, needle: Needle, numbers: NDArray[np.intp], count: int
) -> NDArray[np.bool_]:
    hit = np.zeros(count, dtype=np.bool_)
    lines = texts.several(numbers.tolist())
    if isinstance(needle, bytes):
        hit[numbers] = [needle in line for line in lines]
    else:
        hit[numbers[_matching(needle, b"\n".join(lines), list(map(len, lines)))]] = True
    return hit


def _matching(regex: LineRegex, joined: bytes, sizes: Sequence[int]) -> NDArray[np.intp]:
    """Which of the joined lines match, by number. sizes: their lengths."""
    ends = np.cumsum(np.asarray(sizes, dtype=np.int64) + 1)
    at = np.fromiter(regex.matching(joined), dtype=np.int64)
    return np.searchsorted(ends, at, side="right")


def _of_shapes(texts: ShapedTexts, needle: Needle, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    used = np.bincount(texts.shape[among], minlength=len(texts.packed)) > 0
    hit = np.zeros(len(among), dtype=np.bool_)
    if isinstance(needle, bytes):
        wanted, digits = shaped(needle), digits_of(needle)
        able = used & texts.packed.holding(wanted)
        if not digits:
            return able[texts.shape]
        for shape, lines in _lines_of(texts, able):
            hit[lines] = _with_digits(texts, shape, wanted, digits)
        return hit
    able = used & _able(texts, needle.needs)
    chosen = list(_lines_of(texts, able))
    if chosen:
        joined = b"".join([_written(texts, shape, len(lines)) for shape, lines in chosen])
        sizes = [
            int(texts.packed.sizes[shape]) for shape, lines in chosen for _ in range(len(lines))
        ]
        numbers = np.concatenate([lines for _, lines in chosen])
        hit[numbers[_matching(needle, joined[:-1], sizes)]] = True
    return hit


def may_hold(texts: Texts, needle: Needle) -> bool:
    """False only if no line holds the needle, which its shapes tell."""
    if not isinstance(texts, ShapedTexts):
        return True
    if isinstance(needle, bytes):
        return bool(texts.packed.holding(shaped(needle)).any())
    return bool(_able(texts, needle.needs).any())


def _able(texts: ShapedTexts, needs: Required) -> NDArray[np.bool_]:
    """Shapes that have one text of each clause, as far as digits and case allow to tell."""
    shapes = texts.packed.caseless if needs.ignore_case else texts.packed
    able = np.ones(len(shapes), dtype=np.bool_)
    for clause in _wanted(needs):
        left = np.flatnonzero(able)
        if len(left) > FEW_SHAPES:
            able &= np.any([shapes.holding(text) for text in clause], axis=0)
            continue
        for shape in left.tolist():
            text = shapes.one(shape)
            able[shape] = any(wanted in text for wanted in clause)
    return able


def _wanted(needs: Required) -> list[list[bytes]]:
    """The clauses as shapes, the longest first: it leaves least to look at."""
    clauses = [
        [text.encode("utf-8", "replace") for text in clause]
        for clause in sorted(needs.clauses, key=lambda clause: -min(map(len, clause)))
        if not needs.ignore_case or all(text.isascii() for text in clause)
    ]
    fold = caseless if needs.ignore_case else bytes
    return [list({shaped(fold(text)) for text in clause}) for clause in clauses]


def _lines_of(
    texts: ShapedTexts, chosen: NDArray[np.bool_]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each of these shapes with the numbers of its lines, ascending."""
    shapes = np.flatnonzero(chosen).tolist()
    if len(shapes) <= FEW_SHAPES:
        yield from ((shape, np.flatnonzero(texts.shape == shape)) for shape in shapes)
        return
    first = np.concatenate(([0], np.cumsum(texts.lines_of))).tolist()
    yield from ((shape, texts.order[first[shape] : first[shape + 1]]) for shape in shapes)


def _digits(texts: ShapedTexts, shape: int) -> NDArray[np.uint8]:
    """Digits of the lines of a shape; uint8[digits of a line, lines]."""
    lines, width = int(texts.lines_of[shape]), int(texts.width[shape])
    block = np.frombuffer(texts.block_of(shape), np.uint8, lines * width)
    return block.reshape(width, lines) if lines >= TURNED_LINES else block.reshape(lines, width).T


def _with_digits(
    texts: ShapedTexts, number: int, wanted: bytes, digits: bytes
) -> NDArray[np.bool_]:
    """Which lines of a shape have `digits` where it holds `wanted`."""
    shape, block = texts.packed.one(number), _digits(texts, number)
    hit = np.zeros(block.shape[1], dtype=np.bool_)
    column = np.frombuffer(digits, dtype=np.uint8)[:, None]
    at = shape.find(wanted)
    while at >= 0:
        row = shape.count(b"0", 0, at)
        hit |= (block[row : row + len(digits)] == column).all(axis=0)
        at = shape.find(wanted, at + 1)
    return hit


def _written(texts: ShapedTexts, number: int, lines: int) -> bytes:
    """The lines of a shape, each with a newline."""
    shape = texts.packed.one(number)
    block = bytearray((shape + b"\n") * lines)
    rows = np.frombuffer(block, dtype=np.uint8).reshape(lines, len(shape) + 1)
    places = np.flatnonzero(np.frombuffer(shape, dtype=np.uint8) == ZERO)
    if len(places):
        rows[:, places] = _digits(texts, number).T
    return bytes(block)
