"""The forecast of the storage that the checkpoints of a run will need."""

from __future__ import annotations

from dataclasses import replace

from apps.checkpoints.domain.retention import Held, Rules
from apps.checkpoints.domain.storage_forecast import (
    HORIZON_DAYS,
    MAX_SAVES,
    Rhythm,
    forecast,
    full_on,
)

HOUR_NS = 3_600 * 10**9
NOW_NS = 1_780_000_000 * 10**9
HELD = [Held(0, 100, NOW_NS, 10)]
HOURLY = Rhythm(3_600, 100, 10, attempt=0, step=100, saved_at_ns=NOW_NS)


def test_without_rules_every_save_stays():
    days = forecast(HELD, Rules(), HOURLY, NOW_NS)
    assert [day.number for day in days] == list(range(HORIZON_DAYS + 1))
    assert days[-1].kept_bytes == days[-1].all_bytes == (1 + 24 * HORIZON_DAYS) * 10 + 10


def test_with_rules_it_levels_off_at_what_is_kept_the_last_day_and_the_save_in_flight():
    days = forecast(HELD, Rules(last=5), HOURLY, NOW_NS)
    assert days[-1].kept_bytes == (5 + 24 + 1) * 10
    assert days[-1].kept == 29
    assert days[-1].all_bytes == days[0].all_bytes + HORIZON_DAYS * 240


def test_frequent_saves_are_foreseen_as_far_as_they_can_be_played_through():
    every_minute = replace(HOURLY, every_s=600.0)
    days = forecast(HELD, Rules(last=5), every_minute, NOW_NS)
    assert len(days) - 1 == MAX_SAVES // 144


def test_a_run_that_saves_no_more_is_seen_as_it_is():
    (today,) = forecast(HELD, Rules(last=5), None, NOW_NS)
    assert (today.kept_bytes, today.all_bytes) == (10, 10)


def test_an_asynchronous_save_needs_room_for_two():
    two = replace(HOURLY, in_flight=2)
    assert forecast(HELD, Rules(), two, NOW_NS)[0].kept_bytes == 30


def test_the_exponential_preset_stays_small():
    hourly = replace(HOURLY, every_steps=100)
    days = forecast(HELD, Rules(dense_s=6 * 3600, unit_steps=100), hourly, NOW_NS)
    # 31 at most after each round, as in the simulation; and the 24 saves of the day.
    assert days[-1].kept <= 31 + 24


def test_the_day_on_which_it_is_full_is_told():
    days = forecast(HELD, Rules(last=5), HOURLY, NOW_NS)
    found = full_on(days, 24 * 10 * 10 + 5)
    assert (found.with_rules, found.without) == (None, 11)
    assert full_on(days, 100).with_rules == 1
    assert full_on(days, 10**9).without is None
