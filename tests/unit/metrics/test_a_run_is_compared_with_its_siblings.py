"""metrics.domain.sibling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.metrics.domain.sibling import (
    CELLS,
    cells_done,
    cells_known,
    first_step,
    judge,
    profile,
    spread,
)
from tests.sibling_samples import STEPS, losses

REFERENCES = [profile(range(STEPS), losses(level, seed), STEPS)
              for seed, level in enumerate((0.0, 0.12, -0.08))]  # fmt: skip
USUAL = spread(REFERENCES)


def curve(level=0.05, seed=9, upto=1.0):
    values = profile(range(STEPS), losses(level, seed), STEPS)
    values[int(upto * CELLS) :] = np.nan
    return values


def departures(own, references=REFERENCES, usual=USUAL):
    return judge(own, references, usual).departures


@pytest.mark.parametrize("level", [-0.3, 0.0, 0.4])
def test_a_sibling_of_another_level_stays_in_the_band(level):
    band = judge(curve(level), REFERENCES, USUAL)
    assert band.departures == ()
    off = np.abs(curve(level) - band.center)[40:]
    assert np.median(off / band.width[40:]) < 0.5


def test_a_shift_is_a_departure_with_its_onset_and_its_end():
    own = curve()
    own[200:] += 0.3
    (one,) = departures(own)
    assert (one.onset, one.seen) == (200, 203)
    assert one.value - one.expected == pytest.approx(0.3, abs=0.05)
    # The new level has become the usual one.
    assert one.end == 260


def test_a_run_that_comes_back_ends_its_departure_early():
    own = curve()
    own[200:220] += 0.3
    (one,) = departures(own)
    assert (one.onset, one.end) == (200, 224)


def test_a_slow_rise_is_found_although_the_distance_is_learned_on_the_way():
    own = curve()
    own[160:] += np.linspace(0, 1.0, CELLS - 160)
    assert 160 < departures(own)[0].seen < 220


def test_a_lower_loss_is_no_departure():
    own = curve()
    own[200:] -= 0.3
    assert departures(own) == ()


def test_one_reference_is_enough_once_the_run_has_shown_how_it_strays():
    lone = judge(curve(), REFERENCES[:1], spread(REFERENCES[:1]))
    assert lone.departures == ()
    assert np.isnan(lone.width[:40]).all()
    own = curve()
    own[200:] += 0.3
    assert departures(own, REFERENCES[:1], spread(REFERENCES[:1]))[0].onset == 200


def test_the_forecast_ends_where_the_run_does_and_says_how_far_it_may_be_off():
    band = judge(curve(0.05, upto=0.5), REFERENCES, USUAL)
    assert band.center[-4:] == pytest.approx(curve(0.05)[-4:], abs=0.05)
    assert (band.width[200:] > 0).all()
    assert np.isnan(
        judge(curve(upto=0.5), REFERENCES[:1], spread(REFERENCES[:1])).width[200:]
    ).all()


def test_without_a_loss_nothing_is_said():
    band = judge(np.full(CELLS, np.nan), REFERENCES, USUAL)
    assert (band.departures, np.isnan(band.center).all()) == ((), True)


@settings(max_examples=30)
@given(st.integers(30, 380), st.floats(-0.5, 0.8), st.integers(1, CELLS))
def test_what_comes_later_never_changes_what_was_said(onset, shift, upto):
    own = curve()
    own[onset:] += shift
    early = own.copy()
    early[upto:] = np.nan
    whole = [(one.onset, one.seen) for one in departures(own)]
    assert [(o, s) for o, s in whole if s < upto] == [(o.onset, o.seen) for o in departures(early)]
    ended = [one for one in departures(early) if one.end is not None]
    assert all(one in departures(own) for one in ended)


@settings(max_examples=10)
@given(st.floats(0.01, 1_000))
def test_the_unit_of_the_loss_does_not_matter(unit):
    own = curve()
    own[200:] += 0.3
    scaled = [reference * unit for reference in REFERENCES]
    found = departures(own * unit, scaled, spread(scaled))
    assert [(one.onset, one.seen, one.end) for one in found] == [(200, 203, 260)]


@given(st.integers(1, 10**7), st.integers(0, 10**7))
def test_steps_and_cells_fit_each_other(total, step):
    done = cells_done(step, total)
    assert 0 <= done <= CELLS
    assert first_step(done, total) <= min(step + 1, total)
    assert done == CELLS or step + 1 < first_step(done + 1, total)


@given(st.lists(st.tuples(st.integers(-5, 3_000), st.floats()), max_size=50), st.integers(1, 2_000))
def test_a_profile_is_made_of_finite_values_within_the_schedule(rows, total):
    steps, values = [step for step, _ in rows], [value for _, value in rows]
    found = profile(steps, values, total)
    inside = {
        step * CELLS // total
        for step, value in rows
        if 0 <= step < total and np.isfinite(value)
    }  # fmt: skip
    assert set(np.flatnonzero(np.isfinite(found))) == inside
    assert cells_known(found) == max(inside, default=-1) + 1


def test_the_median_of_two_huge_losses_is_one_of_their_size():
    found = profile([0, 0], [1.5e308, 1.7e308], 1)
    assert found[np.isfinite(found)].tolist() == [1.6e308]
