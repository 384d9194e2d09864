"""Hourly saves of 3.5 TB, the rules applied every hour for 60 days: what is left, and its gaps.

The expected figures are those of an independent simulation made when the rules were chosen
(2026-08); the two rejected policies are here because they look right until they are repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from apps.checkpoints.domain.retention import Held, Rules, plan

HOUR_NS = 3_600 * 10**9
# A Monday, and the first of a month of 30 days: the buckets of the simulation.
START_NS = int(datetime(2026, 6, 1, tzinfo=UTC).timestamp()) * 10**9
SIZE = 3_500_000_000_000
HOURS = 60 * 24

Ages = list[int]
"""Hours, youngest first."""
Policy = Callable[[Ages], Ages]


def by(rules: Rules) -> Callable[[list[Held], int], list[Held]]:
    return lambda held, now_ns: list(plan(held, rules, now_ns).kept)


def by_age(policy: Policy) -> Callable[[list[Held], int], list[Held]]:
    """A policy that sees ages only, as naive ones do."""

    def applied(held: list[Held], now_ns: int) -> list[Held]:
        ages = {(now_ns - one.saved_at_ns) // HOUR_NS: one for one in held}
        return [ages[age] for age in policy(sorted(ages))]

    return applied


def repeated(policy: Callable[[list[Held], int], list[Held]]) -> Iterator[Ages]:
    """The ages that are left after each of the hours."""
    held: list[Held] = []
    for hour in range(HOURS):
        now_ns = START_NS + hour * HOUR_NS
        held = policy([*held, Held(0, hour, now_ns, SIZE)], now_ns)
        yield sorted((now_ns - one.saved_at_ns) // HOUR_NS for one in held)


def worst_gap(history: list[Ages]) -> float:
    """(next age - age) / age of what is a day old or more, the worst of the second half."""
    return max(
        (
            (older - age) / age
            for ages in history[HOURS // 2 :]
            for age, older in pairwise(ages)
            if age >= 24
        ),
        default=0.0,
    )


GFS = Rules(last=3, hourly=24, daily=7, weekly=8, monthly=3)


@pytest.mark.parametrize(
    ("rules", "kept", "peak", "terabytes", "oldest_h", "gap"),
    [
        (GFS, 38, 39, 133, 1_439, 1.39),
        (Rules(dense_s=6 * 3600, unit_steps=1), 31, 31, 108.5, 1_439, 0.40),
        (Rules(dense_s=24 * 3600, unit_steps=1), 96, 96, 336, 1_439, 0.09),
        (Rules(last=5, every_steps=24, within_s=24 * 3600), 84, 84, 294, 1_439, 1.0),
        (Rules(last=10), 10, 10, 35, 9, 0.0),
    ],
    ids=["calendar", "exponential 6 h", "exponential 24 h", "Orbax Any", "LatestN 10"],
)
def test_the_simulated_figures_are_met(rules, kept, peak, terabytes, oldest_h, gap):
    history = list(repeated(by(rules)))
    assert len(history[-1]) == kept
    assert max(map(len, history)) == peak
    assert len(history[-1]) * SIZE == terabytes * 1e12
    assert history[-1][-1] == oldest_h
    assert round(worst_gap(history), 2) == gap


def test_the_ages_of_the_calendar_rules_are_those_of_the_simulation():
    *_, ages = repeated(by(GFS))
    assert ages[:24] == list(range(24))
    old = [24, 48, 72, 96, 120, 144, 264, 432, 600, 720, 768, 936, 1104, 1439]
    assert ages[24:] == old


def test_the_ages_of_the_exponential_rules_are_those_of_the_simulation():
    *_, ages = repeated(by(Rules(dense_s=6 * 3600, unit_steps=1)))
    old = [31, 39, 47, 63, 79, 95, 127, 159, 191, 223, 287, 351, 415, 543, 671, 927, 1183, 1439]
    assert ages[-18:] == old


def bucketed(bucket: Callable[[int], int], dense_h: int, *, oldest: bool) -> Policy:
    """Everything up to an age, then one checkpoint of each bucket of age."""

    def applied(ages: Ages) -> Ages:
        old = [age for age in ages if age > dense_h]
        chosen = {bucket(age): age for age in (old if oldest else reversed(old))}
        return sorted({*(age for age in ages if age <= dense_h), *chosen.values()})

    return applied


def test_the_newest_of_each_day_of_age_is_rejected_it_loses_everything_old():
    *_, ages = repeated(by_age(bucketed(lambda age: age // 24, 23, oldest=False)))
    assert ages == list(range(25))


def test_the_oldest_of_each_doubling_of_age_is_rejected_its_gaps_are_weeks_wide():
    doublings = bucketed(lambda age: int(math.log2(age / 24)), 24, oldest=True)
    *_, ages = repeated(by_age(doublings))
    assert ages[24:] == [24, 36, 59, 335, 1439]
