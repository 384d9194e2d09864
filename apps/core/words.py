"""Numbers, spans of time and places, as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable

MAX_WHOLE = 2**63 - 1
"""The largest whole number that Postgres holds."""


def whole(text: str, most: int = MAX_WHOLE) -> int | None:
    """The whole number from 0 to `most` that a text of digits says; None for any other text.

    "²" and digits of other scripts are digits to `str.isdigit`, not here.
    """
    longest = len(str(max(most, MAX_WHOLE)))
    if not (text.isascii() and text.isdigit() and len(text) <= longest):
        return None
    value = int(text)
    return value if value <= most else None


def wholes(texts: Iterable[str]) -> list[int]:
    """The whole numbers that texts say, in their order; what says none is left out."""
    return [value for text in texts if (value := whole(text)) is not None]


def number(value: float | str | None) -> str:
    """Three significant digits, "NaN" and "inf" by name, "not logged" for None.

    value: a number, or the name of one that is not finite ("Infinity").
    """
    if value is None:
        return "not logged"
    known = float(value)
    if math.isnan(known):
        return "NaN"
    if math.isinf(known):
        return "inf" if known > 0 else "-inf"
    return f"{known:.0f}" if 1e3 <= abs(known) < 1e6 else f"{known:.3g}"


def duration(seconds: float) -> str:
    """A span of time: "3 s", "14 min", "2 h 05 min", "3 d 4 h"."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, hours = whole // 60, whole // 3600
    if hours == 0:
        return f"{minutes} min"
    if hours < 48:
        return f"{hours} h {minutes % 60:02d} min"
    return f"{hours // 24} d {hours % 24} h"


def size(amount: float) -> str:
    """Bytes in binary units: "512 B", "3.5 TiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"


def many(count: int, thing: str) -> str:
    """A count with its noun: "1 step", "3 steps"."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def place(rank: int | None, node: str | None) -> str:
    """ "rank 5 (gpu-b02)", or the part that is known."""
    if rank is None:
        return node or "an unknown rank"
    return f"rank {rank} ({node})" if node else f"rank {rank}"
