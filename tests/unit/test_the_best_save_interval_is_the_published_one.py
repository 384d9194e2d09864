"""Save intervals and their goodput against published values and a Monte-Carlo simulation.

Daly: FGCS 22 (2006), abstract: d = 5 min, MTBF 24 h, 6 h, 15 min -> 117, 57, 9.1 min.
Failure rate: Llama 3 (arXiv 2407.21783), 419 in 54 days on 16,384 GPUs = one in 3.09 h.
Simulated values: mean of three seeds of an independent simulation (2026-08), and ours below.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.interval import (
    PUBLISHED_GPU_HOURS_PER_FAILURE,
    Costs,
    advise,
    daly_s,
    exact_s,
    failures,
    goodput,
    ladder,
    scaled_mtbf_s,
    young_s,
)

times = st.floats(1e-3, 1e7)


def simulated(interval_s: float, costs: Costs, seed: int, count: int = 200_000) -> float:
    """Progress by wall time over many failures: each time to the next one, and each restart."""
    random = np.random.default_rng(seed)
    alive = random.exponential(costs.mtbf_s, count)
    saves = np.floor((alive - costs.persist_s) / (interval_s + costs.pause_s)).clip(0)
    wall = alive.sum()
    waiting = count
    while waiting:
        until_next = random.exponential(costs.mtbf_s, waiting)
        wall += np.minimum(until_next, costs.restart_s).sum()
        waiting = int((until_next < costs.restart_s).sum())
    return float(saves.sum() * interval_s / wall)


@pytest.mark.parametrize(
    ("mtbf_h", "published_min", "daly_min", "young_min", "exact_min"),
    [(24, 117, 116.7, 120.0, 116.7), (6, 57, 56.7, 60.0, 56.7), (0.25, 9.1, 9.1, 12.2, 9.2)],
)
def test_dalys_figures_are_met(mtbf_h, published_min, daly_min, young_min, exact_min):
    costs = Costs(pause_s=300, mtbf_s=mtbf_h * 3_600)
    assert daly_s(costs) / 60 == pytest.approx(published_min, abs=0.5)
    assert round(daly_s(costs) / 60, 1) == daly_min
    assert round(young_s(costs) / 60, 1) == young_min
    assert round(exact_s(costs) / 60, 1) == exact_min


SYNC = [
    (3_600, Costs(180, 11_160, 600), 0.7583, 0.757),
    (1_800, Costs(180, 11_160, 600), 0.7873, 0.787),
    (3_600, Costs(300, 86_400, 900), 0.8930, 0.893),
    (818, Costs(30, 11_160, 300), 0.9038, 0.904),
]
ASYNC = [
    (1_800, Costs(10, 11_160, 600, 120), 0.868, 0.859),
    (600, Costs(10, 11_160, 600, 120), 0.901, 0.897),
    (600, Costs(5, 11_160, 300, 300), 0.918, 0.915),
]


@pytest.mark.parametrize(("interval_s", "costs", "formula", "monte_carlo"), SYNC)
def test_the_goodput_of_synchronous_saves_is_met(interval_s, costs, formula, monte_carlo):
    found = goodput(interval_s, costs)
    assert round(found, 4) == formula
    assert found == pytest.approx(monte_carlo, abs=0.0015)


@pytest.mark.parametrize(("interval_s", "costs", "formula", "monte_carlo"), ASYNC)
def test_that_of_asynchronous_ones_is_the_simulated_one(interval_s, costs, formula, monte_carlo):
    found = goodput(interval_s, costs)
    assert found == pytest.approx(monte_carlo, abs=0.0015)
    # The usual first-order formula is 0.2 to 0.8 points too high.
    assert 0.002 <= formula - found <= 0.0095


@pytest.mark.parametrize(("interval_s", "costs"), [row[:2] for row in SYNC + ASYNC])
def test_a_simulation_of_our_own_gives_the_same(interval_s, costs):
    drawn = [simulated(interval_s, costs, seed) for seed in (1, 2, 3)]
    assert goodput(interval_s, costs) == pytest.approx(np.mean(drawn), abs=0.002)


@pytest.mark.parametrize(
    ("gpus", "mtbf_h", "optimum_min", "hourly", "best", "async_min", "async_best"),
    [
        (256, 198, 265, 0.949, 0.977, 63, 0.993),
        (1_024, 49.5, 131, 0.938, 0.951, 31, 0.984),
        (4_096, 12.4, 65, 0.894, 0.895, 16, 0.956),
        (16_384, 3.1, 31, 0.738, 0.766, 8, 0.875),
    ],
)
def test_jobs_of_all_sizes_are_advised_as_published(
    gpus, mtbf_h, optimum_min, hourly, best, async_min, async_best
):
    mtbf_s = scaled_mtbf_s(PUBLISHED_GPU_HOURS_PER_FAILURE, gpus)
    assert mtbf_s / 3_600 == pytest.approx(mtbf_h, rel=0.004)
    sync, background = Costs(180, mtbf_s, 900), Costs(10, mtbf_s, 900, 180)
    assert advise(sync).best_s / 60 == pytest.approx(optimum_min, abs=0.6)
    assert goodput(3_600, sync) == pytest.approx(hourly, abs=0.001)
    assert advise(sync).goodput == pytest.approx(best, abs=0.001)
    assert advise(background).best_s / 60 == pytest.approx(async_min, abs=0.6)
    assert advise(background).goodput == pytest.approx(async_best, abs=0.006)


@given(times, times, times)
def test_no_interval_beats_the_advised_one(pause_s, mtbf_s, restart_s):
    costs = Costs(pause_s, mtbf_s, restart_s)
    best = advise(costs)
    assert 0 <= best.goodput <= 1
    assert all(goodput(one, costs) <= best.goodput * (1 + 1e-9) for one in ladder(best.best_s))


@given(times, times, times)
def test_a_save_in_the_background_is_never_advised_before_the_last_one_is_done(p, d, m):
    assert advise(Costs(d, m, 0.0, p)).best_s >= p


@given(times, times)
def test_the_exact_optimum_solves_its_equation(pause_s, mtbf_s):
    u = exact_s(Costs(pause_s, mtbf_s)) / mtbf_s
    x = pause_s / mtbf_s
    assert 0 < u <= 1
    assert x > 30 or u + math.log1p(-u) == pytest.approx(-x, rel=1e-6, abs=1e-12)


def test_saves_that_cost_nothing_may_be_as_frequent_as_one_likes():
    free = Costs(0.0, 3_600, restart_s=360)
    assert advise(free).best_s == 0.0
    assert advise(free).goodput == pytest.approx(math.exp(-0.1))
    assert goodput(1e-3, free) == pytest.approx(advise(free).goodput)


@pytest.mark.parametrize(("interval_s", "pause_s"), [(5e-324, 0.0), (5e-324, 5e-324), (0.0, 1.0)])
def test_intervals_below_what_a_float_tells_apart_have_a_goodput(interval_s, pause_s):
    assert 0 <= goodput(interval_s, Costs(pause_s, 86_400.0)) <= 1


@pytest.mark.parametrize("wrong", [(-1, 10), (1, 0), (math.nan, 10), (1, math.inf)])
def test_senseless_costs_are_refused(wrong):
    with pytest.raises(ValueError, match="costs must be finite"):
        Costs(*wrong)


@pytest.mark.parametrize(
    ("count", "most", "fewest"),
    # 90 % limits of the mean of a Poisson count: Garwood's table (Biometrika 28, 1936).
    [(0, 2.996, 0.0), (1, 4.744, 0.0513), (4, 9.154, 1.366), (30, 40.69, 21.59)],
)
def test_few_failures_leave_a_wide_range(count, most, fewest):
    found = failures(count, 1.0)
    assert 1 / found.low_s == pytest.approx(most, rel=1e-3)
    assert 1 / found.high_s == pytest.approx(fewest, rel=1e-3)
