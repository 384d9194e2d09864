import numpy as np
import pytest

from apps.rollbacks.domain.trend import EMPTY, Curve, fit
from apps.rollbacks.domain.verdict import Outcome, Trial, judge
from tests.rollback_samples import falling, raised

ONSET = 1000
BEFORE = falling(0, ONSET)
EXPLODED = raised(falling(900, 1250), 2.5, at=ONSET)
SHIFTED = raised(falling(900, 1250), 0.2, at=ONSET)


def _trial(after, kind="explosion", abandoned=EXPLODED):
    return Trial(kind, ONSET, BEFORE, after, abandoned)


def _texts(verdict):
    return [e.text for e in verdict.evidence]


def test_losses_on_the_old_trend_are_a_recovery():
    verdict = judge(_trial(falling(900, 1050, seed=2)))
    assert verdict.outcome is Outcome.RECOVERED
    assert "50 rows from step 1000; expected" in _texts(verdict)[0]
    assert "better than the abandoned attempt in 50 of 50 rows" in _texts(verdict)[1]
    assert verdict.numbers["below_abandoned"] == 50


def test_a_small_shift_is_cured_too():
    verdict = judge(_trial(falling(900, 1050, seed=2), "level_shift", SHIFTED))
    assert verdict.outcome is Outcome.RECOVERED


@pytest.mark.parametrize("last", [901, 950, 1000, 1049])
def test_with_too_few_rows_past_the_onset_nothing_is_said(last):
    verdict = judge(_trial(falling(900, last, seed=2)))
    assert verdict.outcome is Outcome.UNDECIDED
    assert f"of 50 rows past step {ONSET}" in _texts(verdict)[0]


def test_the_same_explosion_again_blames_the_data():
    verdict = judge(_trial(raised(falling(900, 1006, seed=2), 2.5, at=1002)))
    assert verdict.outcome is Outcome.RELAPSED
    assert "at the same data position: suspect the data" in _texts(verdict)[0]
    assert verdict.numbers["relapse_step"] == 1002


def test_an_explosion_elsewhere_blames_the_state():
    verdict = judge(_trial(raised(falling(900, 960, seed=2), 2.5, at=940)))
    assert verdict.outcome is Outcome.RELAPSED
    assert "at another place: suspect the state or the hardware" in _texts(verdict)[0]


def test_a_small_shift_that_came_back_is_a_relapse():
    again = raised(falling(900, 1050, seed=2), 0.2, at=ONSET)
    verdict = judge(_trial(again, "level_shift", SHIFTED))
    assert verdict.outcome is Outcome.RELAPSED


def test_losses_that_are_not_finite_are_a_relapse():
    healthy = falling(900, 990, seed=2)
    loss = np.where(healthy.step >= 985, np.nan, healthy.loss)
    verdict = judge(_trial(Curve(healthy.step, loss)))
    assert verdict.outcome is Outcome.RELAPSED
    assert "loss nan at step 985" in _texts(verdict)[0]


def test_one_outlier_and_a_wrong_first_row_are_no_relapse():
    healthy = falling(900, 1050, seed=2)
    loss = np.where(np.isin(healthy.step, [900, 901, 970]), 9.0, healthy.loss)
    assert judge(_trial(Curve(healthy.step, loss))).outcome is Outcome.RECOVERED


@pytest.mark.parametrize("last", [1050, 1100, 1400])
def test_the_verdict_does_not_depend_on_when_it_is_asked_for(last):
    later = raised(falling(900, 1500, seed=2), 3.0, at=1300)
    verdict = judge(_trial(Curve(later.step[: last - 900], later.loss[: last - 900])))
    assert verdict == judge(_trial(falling(900, 1050, seed=2)))


def test_slow_divergence_needs_more_rows():
    shorter = _trial(falling(750, 1200, seed=2), "slow_divergence")
    longer = _trial(falling(750, 1250, seed=2), "slow_divergence")
    assert judge(shorter).outcome is Outcome.UNDECIDED
    assert judge(longer).outcome is Outcome.RECOVERED


def test_without_a_trend_the_abandoned_attempt_is_the_measure():
    young = Trial("explosion", ONSET, falling(990, ONSET), falling(990, 1060, seed=2), EXPLODED)
    verdict = judge(young)
    assert verdict.outcome is Outcome.RECOVERED
    assert "too few rows before the incident for a trend" in _texts(verdict)[0]


def test_a_failure_has_recovered_when_the_run_is_past_it():
    crash = Trial("failure", 120, EMPTY, EMPTY, reached_step=139)
    assert judge(crash).outcome is Outcome.UNDECIDED
    past = Trial("failure", 120, EMPTY, EMPTY, reached_step=140)
    assert judge(past).outcome is Outcome.RECOVERED
    assert _texts(judge(past)) == ["reached step 140; the failure was at step 120"]


def test_a_fallen_loss_is_judged_the_other_way_round():
    fallen = raised(falling(900, 1250), -1.0, at=ONSET)
    again = raised(falling(900, 1050, seed=2), -1.0, at=ONSET)
    assert judge(_trial(again, "loss_drop", fallen)).outcome is Outcome.RELAPSED
    cured = falling(900, 1050, seed=2)
    assert judge(_trial(cured, "loss_drop", fallen)).outcome is Outcome.RECOVERED


def test_the_trend_never_rises():
    rising = Curve(np.arange(100, dtype=np.int64), np.linspace(1.0, 2.0, 100))
    trend = fit(rising, min_rows=40)
    assert trend.slope == 0.0
    assert fit(Curve(rising.step[:30], rising.loss[:30]), min_rows=40) is None
