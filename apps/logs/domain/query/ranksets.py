"""Sets of ranks as people write them: `0-7,64`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apps.core.errors import AppError

MAX_RANK = 2**31 - 1
MAX_SPANS = 1_000

Spans = tuple[tuple[int, int], ...]
"""Inclusive (first, last), ascending, neither overlapping nor touching."""


class BadQuery(AppError):
    """A query that cannot be read: `where` names the part at fault."""


def parse_ranks(text: str) -> Spans:
    """The spans of `0-7,64` (commas or spaces between them). Raises BadQuery, also for none."""
    pieces = text.replace(",", " ").split()
    if not pieces:
        raise BadQuery("no rank is given", where="rank", hint="write ranks as in 0-7,64")
    if len(pieces) > MAX_SPANS:
        raise BadQuery(f"more than {MAX_SPANS} pieces", where="rank", hint="join them to spans")
    return merged(_span(piece) for piece in pieces)


def say_ranks(spans: Sequence[tuple[int, int]]) -> str:
    """The text that parse_ranks() reads back as `spans`."""
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """The same ranks as ascending spans that do not touch."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _span(piece: str) -> tuple[int, int]:
    first, dash, last = piece.partition("-")
    a = _rank(first, piece)
    b = _rank(last, piece) if dash else a
    if b < a:
        raise BadQuery(f'"{piece[:40]}" runs backwards', where="rank", hint=f"write {b}-{a}")
    return a, b


def _rank(text: str, piece: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= MAX_RANK):
        raise BadQuery(
            f'"{piece[:40]}" is neither a rank nor a span of ranks',
            where="rank",
            hint="write ranks as in 0-7,64",
        )
    return int(text)
