"""metrics.domain.bank: what counts as a move, and where it began."""

import numpy as np
import pytest

from apps.metrics.domain import bank, bank_state
from apps.metrics.domain.bank import Demand
from tests.bank_samples import POLICY, healthy, judged, rows_of, told


@pytest.mark.parametrize("factor", [0.3, 1.6, 40.0])
def test_a_lasting_move_is_dated_to_its_first_value(factor):
    values = healthy()
    values[400:, 2] *= factor
    moved = [e for e in judged(values) if e.what is bank.What.MOVED]

    assert [(e.column, e.since_step) for e in moved] == [(2, 400)]
    assert moved[0].before == pytest.approx(1.5, rel=0.05)
    assert moved[0].value == pytest.approx(1.5 * factor, rel=0.2)
    assert moved[0].since_ns == 400 * 1_000_000_000


def test_a_slow_ramp_is_found_while_it_is_small():
    values = healthy()
    values[400:, 1] *= 1.01 ** np.arange(200)
    (moved,) = [e for e in judged(values) if e.what is bank.What.MOVED]
    assert moved.step < 450
    assert 400 <= moved.since_step < 425


@pytest.mark.parametrize("seed", range(8))
def test_noise_and_a_schedule_move_nobody(seed):
    assert judged(healthy(3_000, 20, seed=seed)) == []


@pytest.mark.parametrize("shape", [
    np.minimum(1.0, np.arange(900) / 300),
    0.55 + 0.45 * np.cos(np.arange(900) * np.pi / 900),
    1 + np.arange(900) / 200,
    np.exp(-np.arange(900) / 300),
])  # fmt: skip
def test_warm_up_cosine_growth_and_decay_are_schedules(shape):
    noise = np.random.default_rng(3).standard_normal((900, 6))
    assert judged(2.0 * (shape[:, None] + 0.01) * (1 + 0.03 * noise)) == []


@pytest.mark.parametrize("rows", [1, 4, 10])
def test_a_burst_that_heals_within_ten_values_moves_nobody(rows):
    values = healthy()
    values[400 : 400 + rows] *= 30
    assert judged(values) == []


def test_of_weights_four_values_are_enough():
    values = healthy(noise=0.001)
    values[400:, 0] *= 90
    (moved, loud) = judged(values, demand=Demand(excess=0.05, far_need=4))[:2]
    assert (moved.step, loud.what) == (403, bank.What.LOUD)


def test_a_move_smaller_than_the_statistic_asks_for_is_none():
    values = 3 + 0.003 * np.random.default_rng(0).standard_normal((600, 4))
    values[400:, 0] *= 1.2
    assert told(judged(values, demand=Demand(excess=0.05)), "MOVED") == [("MOVED", 0, 400)]
    assert judged(values, demand=Demand(excess=0.30)) == []


def test_a_series_comes_back_or_settles_where_it_went():
    values = healthy(900)
    values[400:440, 0] *= 5
    values[400:, 1] *= 5
    events = judged(values)
    assert told(events, "BACK", "SETTLED") == [("BACK", 0, 400), ("SETTLED", 1, 400)]


def test_what_goes_on_growing_does_not_settle():
    values = healthy(900)
    values[400:, 1] *= 1.01 ** np.arange(500)
    assert told(judged(values), "SETTLED") == []


def test_a_series_that_has_settled_can_move_again():
    values = healthy(1_200)
    values[400:, 1] *= 5
    values[900:, 1] *= 5
    assert [began for _, _, began in told(judged(values), "MOVED")] == [400, 900]


def test_early_training_is_learned_and_not_judged():
    values = healthy()
    values[100:, 0] *= 20
    assert told(judged(values), "MOVED") == []


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_outside(odd):
    values = healthy()
    values[400:, 3] = odd
    (moved,) = [e for e in judged(values) if e.what is bank.What.MOVED]
    assert (moved.column, moved.since_step, moved.z) == (3, 400, np.inf)


def test_a_skipped_step_without_a_number_moves_nobody():
    values = healthy()
    values[400, :] = np.nan
    assert judged(values) == []


def test_a_series_logged_every_tenth_step_is_treated_alike():
    values = healthy()
    values[400:, 1] *= 3
    assert told(judged(values, every=10), "MOVED") == [("MOVED", 1, 4_000)]


def test_sparse_and_dense_series_stand_in_one_matrix():
    values = healthy(2_500)
    present = np.ones(values.shape, dtype=bool)
    present[:, 1] = np.arange(2_500) % 10 == 0
    values[2_300:] *= 3
    assert told(judged(values, present=present), "MOVED") == [
        ("MOVED", n, 2_300) for n in (0, 2, 3, 1)
    ]


def test_a_limit_counts_from_the_first_values_on():
    values = np.full((120, 2), 60.0)
    values[50:, 0] = 130.0
    events = judged(values, demand=Demand(limit=100.0))
    assert told(events) == [("OVER", 0, 52)]


def test_a_limit_that_was_always_passed_is_not_told_and_one_passed_for_long_is_told_once():
    values = np.full((600, 2), 130.0)
    values[:40, 1] = 60.0
    events = judged(values, demand=Demand(limit=100.0))
    assert told(events, "OVER", "UNDER") == [("OVER", 1, 42), ("UNDER", 1, 242)]


def test_a_new_attempt_keeps_what_is_normal_and_forgets_what_was_told():
    values = healthy()
    values[560:, 0] *= 9
    state = bank.of([Demand()] * 4)
    bank.feed(state, rows_of(values), POLICY)
    bank_state.calm(state)
    assert bank.feed(state, rows_of(healthy(seed=7)[400:], first=400), POLICY) == []
