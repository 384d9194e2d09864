"""Which ranks an attempt should have. Plain Python."""

from __future__ import annotations

from collections.abc import Set
from itertools import islice


def first_missing(size: int, there: Set[int], most: int) -> list[int]:
    """The lowest ranks below `size` that are not in `there`, at most `most`.

    size is what a sender claims, up to 2**31: cost grows with `there` and `most` only.
    """
    return list(islice((rank for rank in range(size) if rank not in there), max(0, most)))
