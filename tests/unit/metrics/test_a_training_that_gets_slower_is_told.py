"""metrics.domain.throughput: lasting drops of the speed, against the run's own past."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import FindingSeverity
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.domain.throughput import (
    SpeedSeries,
    ThroughputState,
    begin,
    feed,
    note_sizes,
)

S = 1_000_000_000
TOKENS = SpeedSeries("perf/tokens_per_s", False)
STEP_TIME = SpeedSeries("perf/step_time", True)
WARN, PAGE, INFO = FindingSeverity.WARN, FindingSeverity.PAGE, FindingSeverity.INFO


def rows(speeds, *, first=0, row_s=60.0):
    """Rows a minute apart, one a step."""
    return [(first + n, int((first + n) * row_s * S), float(v)) for n, v in enumerate(speeds)]


def noisy(count, level, *, seed=0, noise=0.03):
    return level * (1 + noise * np.random.default_rng(seed).standard_normal(count))


def fed(speeds, series=TOKENS, planned=(), state=None, **how):
    state = state or ThroughputState(series.name, 0)
    return {f.key: f for f in feed(state, series, rows(speeds, **how), planned)}


def drop_to(share, count=40):
    return np.concatenate([noisy(100, 1_000), noisy(count, 1_000 * share, seed=1)])


def test_a_lasting_drop_warns_with_both_speeds():
    (found,) = fed(drop_to(0.75)).values()
    assert (found.severity, found.onset_step, found.closed_step) == (WARN, 100, None)
    assert found.facts["before"] == pytest.approx(1_000, rel=0.02)
    assert found.facts["value"] == pytest.approx(750, rel=0.02)
    assert found.title == "training is 24 % slower since step 100"


def test_seconds_a_step_tell_the_same_the_other_way_round():
    speeds = 1.0 / drop_to(0.75)
    (found,) = fed(speeds, STEP_TIME).values()
    assert (found.onset_step, found.series) == (100, "perf/step_time")
    assert found.facts["value"] > found.facts["before"]


@pytest.mark.parametrize("share", [0.9, 1.0, 1.3])
def test_a_little_slower_or_faster_is_no_news(share):
    assert fed(drop_to(share)) == {}


def test_half_of_the_speed_for_half_an_hour_pages():
    found = fed(drop_to(0.4, count=20))
    assert [f.severity for f in found.values()] == [WARN]
    found = fed(drop_to(0.4, count=60))
    assert [f.severity for f in found.values()] == [PAGE]


def test_pauses_for_evaluations_and_saves_are_no_drop():
    speeds = noisy(400, 1_000)
    speeds[::10] *= 0.05
    speeds[200:207] *= 0.3
    assert fed(speeds) == {}


def test_a_minute_of_fast_rows_is_no_drop():
    """Twenty slow rows within 20 s: gone before anybody looks."""
    speeds = np.concatenate([noisy(100, 1_000), noisy(20, 500), noisy(100, 1_000)])
    assert fed(speeds, row_s=1.0) == {}


def test_the_first_rows_after_a_resume_do_not_count():
    parent = ThroughputState(TOKENS.name, 0)
    feed(parent, TOKENS, rows(noisy(100, 1_000)))
    state = begin(parent, TOKENS.name, 1)
    assert fed([50.0] * 5 + list(noisy(60, 1_000)), state=state, first=80) == {}


def test_a_new_attempt_is_compared_with_the_one_before():
    parent = ThroughputState(TOKENS.name, 0)
    feed(parent, TOKENS, rows(noisy(100, 1_000)))
    state = begin(parent, TOKENS.name, 1)
    (found,) = fed(noisy(60, 700, seed=2), state=state, first=80).values()
    assert (found.attempt, found.onset_step) == (1, 85)


def test_the_drop_ends_when_the_speed_is_back():
    speeds = np.concatenate([drop_to(0.7), noisy(40, 1_000, seed=3)])
    (found,) = fed(speeds).values()
    assert found.severity is WARN and 148 <= found.closed_step <= 152
    assert found.title.startswith("training was slower from step 100 to 149, for")


def test_a_planned_change_makes_it_information_and_the_new_usual():
    planned = [PlannedChange("sequence_length", 100, None, "4k to 8k", "person")]
    speeds = np.concatenate([drop_to(0.6, count=250), noisy(60, 400, seed=4)])
    first, second = fed(speeds, planned=planned).values()
    assert (first.severity, first.onset_step, first.closed_step is None) == (INFO, 100, False)
    assert first.facts["planned"] == "sequence length from step 100: 4k to 8k"
    assert (second.severity, second.onset_step) == (WARN, 350)


def test_a_logged_change_of_the_sequence_length_explains_another_speed():
    state = ThroughputState(STEP_TIME.name, 0)
    lengths = rows([4_096.0] * 100 + [8_192.0] * 60)
    note_sizes(state, {"sequence_length": lengths})
    (found,) = fed([1.0] * 100 + [2.0] * 60, STEP_TIME, state=state).values()
    assert found.severity is INFO
    assert found.facts["planned"] == "sequence length from step 100: 4096 -> 8192"


def test_sizes_are_kept_over_a_restart_and_their_changes_bounded():
    state = ThroughputState(STEP_TIME.name, 0)
    note_sizes(state, {"batch_size": rows(np.repeat(np.arange(8.0), 25))})
    assert [change.from_step for change in state.changed] == [100, 125, 150, 175]
    child = begin(state, STEP_TIME.name, 1)
    note_sizes(child, {"batch_size": rows([64.0], first=200)})
    assert [change.text for change in child.changed] == ["7 -> 64"]


def test_a_size_that_is_another_in_every_row_explains_nothing():
    state = ThroughputState(TOKENS.name, 0)
    note_sizes(state, {"batch_size": rows(noisy(140, 512))})
    (found,) = fed(drop_to(0.7), state=state).values()
    assert found.severity is WARN


def test_a_speed_that_stays_becomes_usual_and_its_finding_stays_open():
    speeds = np.concatenate([drop_to(0.7, count=600), noisy(60, 400, seed=4)])
    first, second = fed(speeds).values()
    assert (first.onset_step, first.closed_step) == (100, None)
    assert second.facts["before"] == pytest.approx(700, rel=0.02)


def test_odd_values_and_repeated_rows_are_left_out():
    speeds = drop_to(0.75)
    speeds[::7] = np.nan
    speeds[3::11] = -1.0
    state = ThroughputState(TOKENS.name, 0)
    assert len(feed(state, TOKENS, rows(speeds))) == 1
    assert feed(state, TOKENS, rows(speeds)) == []


speeds_of = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=200)


@given(speeds_of, st.integers(0, 200))
def test_a_restart_changes_nothing(speeds, cut):
    whole = ThroughputState(TOKENS.name, 0)
    told = {f.key: f for f in feed(whole, TOKENS, rows(speeds))}
    half = ThroughputState(TOKENS.name, 0)
    first = feed(half, TOKENS, rows(speeds)[:cut])
    half = msgspec.msgpack.decode(msgspec.msgpack.encode(half), type=ThroughputState)
    rest = feed(half, TOKENS, rows(speeds)[cut:])
    assert {f.key: f for f in [*first, *rest]} == told
    assert half == whole
    assert len(whole.usual) <= 240 and len(whole.recent) <= 12


@given(speeds_of, st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(speeds, scale):
    here = fed(speeds)
    there = fed([scale * v for v in speeds])
    assert here.keys() == there.keys()


@given(st.floats(1e-6, 1e6), st.integers(1, 300))
def test_a_constant_speed_is_silent(level, count):
    assert fed([level] * count) == {}
