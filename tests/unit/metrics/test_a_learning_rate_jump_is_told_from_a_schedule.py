"""metrics.domain.changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain.changes import ChangePolicy, Track, jump

AT = np.arange(1_000)
WARM_UP = np.minimum(1.0, AT / 100)
SCHEDULES = {
    "linear warm-up and cosine": 3e-4 * WARM_UP * 0.5 * (1 + np.cos(np.pi * AT / 1_000)),
    "inverse square root": 3e-4 * np.minimum(AT / 100, np.sqrt(100 / np.maximum(AT, 1))),
    "constant": np.full(1_000, 3e-4),
    "warm-up, stable, decay": 3e-4 * WARM_UP * np.minimum(1, (1_000 - AT) / 200),
    "exponential": 3e-4 * 0.99**AT,
}


def jumps(values):
    state = Track()
    return [
        (at, before)
        for at, value in enumerate(values.tolist())
        if (before := jump(state, value, ChangePolicy())) is not None
    ]


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_has_no_jump(name):
    assert jumps(SCHEDULES[name]) == []


@pytest.mark.parametrize("name", SCHEDULES)
@given(st.integers(150, 780), st.sampled_from([0.1, 0.5, 2.0, 40.0]))
def test_a_wrong_factor_is_found_at_its_row(name, at, factor):
    values = SCHEDULES[name].copy()
    values[at:] *= factor
    assert [row for row, _ in jumps(values)] == [at]


def test_the_value_before_is_told():
    assert jumps(np.array([1.0, 1.0, 1.0, 1.0, 40.0])) == [(4, 1.0)]
