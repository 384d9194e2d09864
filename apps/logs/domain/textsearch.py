"""Which lines of a chunk hold a text or match a regex, without writing most of them out.

Lines of one shape differ in their digits only (shapes.py). A text is looked for in the shapes; its
digits are then compared with a column of digits for all lines of a shape at once. A regex is tried
on lines whose shape has what every match needs (literals.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.chunktexts import TURNED_LINES, ShapedTexts, Texts
from apps.logs.domain.literals import Required
from apps.logs.domain.regexes import LineRegex
from apps.logs.domain.shapes import ZERO, digits_of, shaped
from apps.logs.domain.sieve import caseless

Needle = bytes | LineRegex
FEW = 64
"""So many lines are looked at one by one."""


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
    lines = [texts.raw(number) for number in numbers.tolist()]
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
    hit = np.zeros(len(among), dtype=np.bool_)
    view = _ByShape(texts)
    used = np.bincount(texts.shape[among], minlength=len(texts.shapes)) > 0
    if isinstance(needle, bytes):
        wanted = shaped(needle)
        able = [at for at in np.flatnonzero(used).tolist() if wanted in texts.shapes[at]]
        for shape in able:
            hit[view.lines(shape)] = view.with_digits(shape, wanted, digits_of(needle))
        return hit
    able = list(_able(texts.shapes, np.flatnonzero(used).tolist(), needle.needs))
    joined = b"".join(view.written(shape) for shape in able)
    lines = np.concatenate([view.lines(shape) for shape in able] or [np.zeros(0, dtype=np.intp)])
    sizes = [len(texts.shapes[shape]) for shape in texts.shape[lines].tolist()]
    hit[lines[_matching(needle, joined[:-1], sizes)]] = True
    return hit


def _able(shapes: Sequence[bytes], numbers: Sequence[int], needs: Required) -> Iterator[int]:
    """Shapes that have one text of each clause, as far as digits and case allow to tell."""
    if needs.ignore_case:
        clauses = [
            [shaped(caseless(text.encode())) for text in clause]
            for clause in needs.clauses
            if all(text.isascii() for text in clause)
        ]
    else:
        clauses = [[shaped(text.encode("utf-8", "replace")) for text in c] for c in needs.clauses]
    for number in numbers:
        shape = caseless(shapes[number]) if needs.ignore_case else shapes[number]
        if all(any(text in shape for text in clause) for clause in clauses):
            yield number


class _ByShape:
    """The lines of a chunk, those of a shape together."""

    def __init__(self, texts: ShapedTexts) -> None:
        self.texts = texts
        self.order = np.argsort(texts.shape, kind="stable")
        self.first = np.concatenate(([0], np.cumsum(texts.lines_of))).tolist()

    def lines(self, shape: int) -> NDArray[np.intp]:
        """Numbers of the lines of a shape, ascending."""
        return self.order[self.first[shape] : self.first[shape + 1]]

    def digits(self, shape: int) -> NDArray[np.uint8]:
        """Digits of its lines; uint8[digits of a line, lines]."""
        lines, width = self.first[shape + 1] - self.first[shape], int(self.texts.width[shape])
        begin = int(self.texts.begin[shape])
        block = np.frombuffer(self.texts.digits, np.uint8, lines * width, begin)
        if lines >= TURNED_LINES:
            return block.reshape(width, lines)
        return block.reshape(lines, width).T

    def with_digits(self, number: int, wanted: bytes, digits: bytes) -> NDArray[np.bool_]:
        """Which lines of a shape have `digits` where it holds `wanted`."""
        shape = self.texts.shapes[number]
        lines = self.first[number + 1] - self.first[number]
        if not digits:
            return np.ones(lines, dtype=np.bool_)
        hit, block = np.zeros(lines, dtype=np.bool_), self.digits(number)
        column = np.frombuffer(digits, dtype=np.uint8)[:, None]
        at = shape.find(wanted)
        while at >= 0:
            row = shape.count(b"0", 0, at)
            hit |= (block[row : row + len(digits)] == column).all(axis=0)
            at = shape.find(wanted, at + 1)
        return hit

    def written(self, number: int) -> bytes:
        """The lines of a shape, each with a newline."""
        shape, lines = self.texts.shapes[number], self.first[number + 1] - self.first[number]
        block = bytearray((shape + b"\n") * lines)
        rows = np.frombuffer(block, dtype=np.uint8).reshape(lines, len(shape) + 1)
        places = np.flatnonzero(np.frombuffer(shape, dtype=np.uint8) == ZERO)
        if len(places):
            rows[:, places] = self.digits(number).T
        return bytes(block)
