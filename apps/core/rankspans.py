"""Many ranks in few characters."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

MAX_SPANS = 8


def spans(ranks: Iterable[int], most: int = MAX_SPANS) -> str:
    """ "0-3, 5, 7-16383": ascending; what has no room is counted: ", and 12 more"."""
    ordered = sorted(set(ranks))
    if not ordered:
        return ""
    cuts = [0, *(at + 1 for at, (a, b) in enumerate(pairwise(ordered)) if b - a > 1), len(ordered)]
    named = [ordered[start:end] for start, end in pairwise(cuts)]
    left = sum(len(run) for run in named[most:])
    words = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in named[:most]]
    return ", ".join(words) + (f", and {left:,} more" if left else "")
