"""metrics.domain.steps."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import MetricRow
from apps.metrics.domain.steps import by_series


def stepped(*told):
    rows = [
        MetricRow(at, at, {} if value is None else {"x": value}) for at, value in enumerate(told)
    ]
    return [row.step for row in by_series(rows, "x")]


@pytest.mark.parametrize(
    ("told", "steps"),
    [
        ((10.0, 20.0, 30.0), [10, 20, 30]),
        ((None, 20.0, None), [0, 20, 20]),
        ((10.0, 2.5, -1.0, math.nan, math.inf, 40.0), [10, 10, 10, 10, 10, 40]),
        ((30.0, 10.0), [30, 10]),
    ],
)
def test_a_row_takes_the_named_step_or_that_of_the_row_before_it(told, steps):
    assert stepped(*told) == steps


@given(st.lists(st.none() | st.floats()))
def test_no_values_break_it_or_lose_a_row(told):
    assert len(stepped(*told)) == len(told)
