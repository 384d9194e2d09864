"""Changes of a series that no smooth schedule explains."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from apps.metrics.domain.rolling import median


@dataclass(frozen=True, slots=True)
class ChangePolicy:
    """A jump: more than `ratio` in one row and `surprise` times the usual change between rows.

    Warm-up is linear (equal changes), cosine, linear and WSD decays change by less than 1 % a row;
    step decay, a warm restart and a wrong value change by far more than the rows before.

    Source: learning rates of the public logs and own runs of the loss-spike study.
    """

    ratio: float = 1.25
    surprise: float = 8.0
    history_rows: int = 20
    min_rows: int = 3


# Batch and sequence ramps go in steps of 3 % and more.
COUNTS = ChangePolicy(ratio=1.03)


class Track(msgspec.Struct):
    """last: the value of the row before. deltas: absolute changes of the last rows. anchors: the
    value every ANCHOR_ROWS rows, of the last ANCHORS of them."""

    last: float | None = None
    deltas: list[float] = []
    anchors: list[float] = []


ANCHOR_ROWS = 50
ANCHORS = 6


def jump(track: Track, value: float, policy: ChangePolicy) -> float | None:
    """Take one finite value; the value before it if it jumped, else None. O(history)."""
    last, track.last = track.last, value
    if last is None:
        return None
    delta = abs(value - last)
    known = len(track.deltas) >= policy.min_rows
    small = delta <= (policy.ratio - 1) * min(abs(last), abs(value))
    odd = not small and known and delta > policy.surprise * median(track.deltas)
    track.deltas.append(delta)
    del track.deltas[: -policy.history_rows]
    return last if odd and math.isfinite(delta) else None
