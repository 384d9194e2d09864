"""How much storage a run will need in the next weeks, with rules and without. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from apps.checkpoints.domain.retention import Held, Rules, plan

HORIZON_DAYS: Final = 60
MAX_SAVES: Final = 1_500
"""Saves that are played through: 60 days of hourly ones. More frequent ones reach less far."""
_DAY_NS: Final = 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How the run saves. every_s, every_steps: between two saves. size_bytes: of one.

    attempt, step, saved_at_ns: of the newest. in_flight: checkpoints that lie there beside the
    complete ones while a save runs: an asynchronous one needs the old and the new at once.
    """

    every_s: float
    every_steps: int
    size_bytes: int
    attempt: int
    step: int
    saved_at_ns: int
    in_flight: int = 1


@dataclass(frozen=True, slots=True)
class Day:
    """The most that lies on the storage on one day. number: 0 is today.

    kept_bytes: with the rules, with what was dropped in the last 24 hours and the save in flight.
    all_bytes: if nothing is deleted. kept: checkpoints behind kept_bytes, without the one in
    flight.
    """

    number: int
    kept_bytes: int
    all_bytes: int
    kept: int


def forecast(
    held: Collection[Held], rules: Rules, rhythm: Rhythm | None, now_ns: int
) -> tuple[Day, ...]:
    """A value for today and each day to come, as far as MAX_SAVES saves reach.

    The rules are applied once a day, to what the day before left and what the day saved, which is
    what a grace of 24 hours keeps. Without a rhythm, or if nothing is saved any more, only today.
    O(days x (kept + saves a day)).
    """
    flight = rhythm.in_flight * rhythm.size_bytes if rhythm else 0
    left = list(held)
    everything = sum(one.size_bytes for one in left)
    days = [Day(0, everything + flight, everything + flight, len(left))]
    if rhythm is None or rhythm.every_s <= 0 or rhythm.size_bytes <= 0:
        return tuple(days)
    made = 0
    for number in range(1, HORIZON_DAYS + 1):
        until_ns = now_ns + number * _DAY_NS
        fresh = _saves(rhythm, made, until_ns)
        made += len(fresh)
        if made > MAX_SAVES:
            break
        left = [*plan(left, rules, until_ns - _DAY_NS).kept, *fresh]
        everything += sum(one.size_bytes for one in fresh)
        held_bytes = sum(one.size_bytes for one in left)
        days.append(Day(number, held_bytes + flight, everything + flight, len(left)))
    return tuple(days)


@dataclass(frozen=True, slots=True)
class Full:
    """The first day on which the storage has no room left; None: not within the forecast."""

    with_rules: int | None
    without: int | None


def full_on(days: Sequence[Day], free_bytes: int) -> Full:
    """When what is added to what lies there today is more than is free, if nobody else writes."""
    kept = (d.number for d in days if d.kept_bytes - days[0].kept_bytes > free_bytes)
    everything = (d.number for d in days if d.all_bytes - days[0].all_bytes > free_bytes)
    return Full(next(kept, None), next(everything, None))


def _saves(rhythm: Rhythm, made: int, until_ns: int) -> list[Held]:
    """The saves after the first `made` ones, until a time; at most one more than MAX_SAVES."""
    every_ns = int(rhythm.every_s * 1e9)
    last = min(MAX_SAVES + 1, (until_ns - rhythm.saved_at_ns) // every_ns)
    return [
        Held(
            attempt=rhythm.attempt,
            step=rhythm.step + number * rhythm.every_steps,
            saved_at_ns=rhythm.saved_at_ns + number * every_ns,
            size_bytes=rhythm.size_bytes,
        )
        for number in range(made + 1, last + 1)
    ]
