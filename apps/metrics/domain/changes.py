"""Changes of the learning rate that no smooth schedule explains."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from apps.metrics.domain.rolling import median


@dataclass(frozen=True, slots=True)
class ChangePolicy:
    """A jump: more than `ratio` in one row and `surprise` times the usual change between rows.

    Warm-up is linear (equal changes), cosine, linear and WSD decays change by less than 1 % a row;
    step decay, a warm restart and a wrong value change by far more than the rows before.
    """

    ratio: float = 1.25
    surprise: float = 8.0
    history_rows: int = 20
    min_rows: int = 3


class LrState(msgspec.Struct):
    """last: the learning rate of the row before. deltas: absolute changes of the last rows."""

    last: float | None = None
    deltas: list[float] = []


def lr_change(state: LrState, value: float, policy: ChangePolicy) -> float | None:
    """Take one finite learning rate; the value before it if it jumped, else None. O(history)."""
    last, state.last = state.last, value
    if last is None:
        return None
    delta = abs(value - last)
    usual = median(state.deltas)
    known = len(state.deltas) >= policy.min_rows
    state.deltas.append(delta)
    del state.deltas[: -policy.history_rows]
    if not known or min(last, value) < 0 or delta <= policy.surprise * usual:
        return None
    low, high = min(last, value), max(last, value)
    return last if high > policy.ratio * low else None
