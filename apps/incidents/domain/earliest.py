"""Which series moved first, and how long before everybody could see it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from apps.incidents.domain.incident import EarliestSignal
from apps.metrics.domain.layer_keys import LayerKey
from apps.metrics.domain.layer_statistics import BY_SLUG
from apps.metrics.domain.roles import in_words


@dataclass(frozen=True, slots=True)
class Move:
    """A series that left its own band at `step` (see `metrics.domain.departures`).

    z: robust standard deviations of its first value outside, inf if that is no number. layer: the
    place its name speaks of ("layer 4"), None for a series of the whole job. words: its name in
    words, "" where that says no more. statistic: in words, "" if the name says none. rank: the one
    that left the band of the others, in a series of ranks. before: its level; value: the first one
    outside; NaN where nobody knows.
    """

    series: str
    step: int
    z: float
    layer: str | None = None
    words: str = ""
    statistic: str = ""
    rank: int | None = None
    time_ns: int = 0
    before: float = math.nan
    value: float = math.nan


def spoken(move: Move) -> str:
    """The series in words, "" where they say no more than its name."""
    return move.words if move.rank is None else f"rank {move.rank}, {in_words(move.series)}"


def move_of(series: str, step: int, z: float, layer: LayerKey | None) -> Move:
    """A move, by what the name of its series says."""
    if layer is None:
        return Move(series, step, z)
    place = None if layer.layer is None else layer.place
    return Move(series, step, z, place, layer.words, BY_SLUG[layer.statistic].words)


@dataclass(frozen=True, slots=True)
class EarliestPolicy:
    """lookback_steps: a move longer ago is another story (the longest measured lead of a layer
    signal over the loss is about 350 steps). looks: so many steps behind the onset the series are
    looked at again, because a move counts only once it lasts; the last look is final."""

    lookback_steps: int = 400
    looks: tuple[int, ...] = (5, 50)


DEFAULT_POLICY = EarliestPolicy()


def first_move(
    moves: Sequence[Move], onset_step: int, policy: EarliestPolicy = DEFAULT_POLICY
) -> Move | None:
    """The move that started first, at most `lookback_steps` before the onset; None without one.

    Of equally early ones a layer before a whole-job series, because it says where to look, then
    the one that is farthest out of its band.
    """
    recent = [m for m in moves if onset_step - policy.lookback_steps <= m.step <= onset_step]
    return min(
        recent,
        key=lambda m: (m.step, m.layer is None, -abs(m.z), m.series),
        default=None,
    )


def moved_with(moves: Sequence[Move], first: Move) -> int:
    """How many other layers moved at the same step; other series if `first` is of the whole job.

    The named one is only the farthest out: a fault in one layer reaches its neighbours in a step.
    """
    names = {m.series if first.layer is None else m.layer
             for m in moves if m.step == first.step}  # fmt: skip
    return len(names - {None, first.series, first.layer})


def as_signal(move: Move, time_ns: int, onset: tuple[int, int], *, more: int = 0) -> EarliestSignal:
    """The move as what an incident says. time_ns: of its step. onset: (step, time_ns) of what it is
    ahead of."""
    return EarliestSignal(
        series=move.series,
        step=move.step,
        time_ns=time_ns,
        layer=move.layer,
        rank=move.rank,
        words=spoken(move),
        lead_steps=onset[0] - move.step,
        lead_s=max(0.0, (onset[1] - time_ns) / 1e9),
        more=more,
    )


def next_look(
    onset_step: int, newest_step: int, policy: EarliestPolicy = DEFAULT_POLICY
) -> int | None:
    """The newest step at which to look again, None if the answer is final."""
    steps = (onset_step + look for look in policy.looks)
    return next((step for step in steps if step > newest_step), None)
