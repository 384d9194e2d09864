"""core.grid, and what asks it in place of its rows: the same answers as for a list of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core import grid
from apps.core.grid import Grid
from apps.metrics.domain.packing import irregular
from apps.metrics.domain.steps import by_series
from apps.runs.domain.attempts import split_restarts

CELLS = st.one_of(st.floats(), st.integers(0, 9).map(float))
LINES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), CELLS, CELLS), max_size=8)
BESIDE = st.sampled_from([(), ("r",), ("r", "t")])


@st.composite
def grids(draw):
    lines, beside = draw(LINES), draw(BESIDE)
    steps, times = ([line[at] for line in lines] for at in (0, 1))
    values = np.array([line[2:] for line in lines], dtype=float).reshape(-1, 2)
    column = np.arange(len(lines)) / 3
    return Grid(("a", "b"), values, steps, times, dict.fromkeys(beside, column))


@given(grids())
def test_it_answers_like_its_rows(one):
    rows = list(one)
    for ask in (grid.steps_of, grid.times_of, grid.extras_of, irregular):
        assert ask(one) == ask(rows)
    assert grid.names_of(rows) == (grid.names_of(one) if rows else set())
    assert repr(grid.series_of(one, "b")) == repr(grid.series_of(rows, "b"))
    assert grid.series_of(one, "none") == grid.series_of(rows, "none")
    assert repr(list(grid.job_of(one))) == repr(grid.job_of(rows))


@given(grids(), st.one_of(st.none(), st.integers(0, 9)))
def test_it_is_cut_at_restarts_and_moved_like_its_rows(one, last_step):
    rows = list(one)
    of_grid, of_rows = (
        [(list(part.rows), part.restart, part.late) for part in split_restarts(given, last_step, 5)]
        for given in (one, rows)
    )
    assert repr(of_grid) == repr(of_rows)
    assert repr(list(by_series(one, "b"))) == repr(list(by_series(rows, "b")))


@given(grids(), st.slices(8))
def test_a_part_of_it_is_a_grid_of_these_rows(one, part):
    assert isinstance(one[part], Grid)
    assert repr(list(one[part])) == repr(list(one)[part])


def test_it_ends_where_a_list_ends():
    one = Grid(("a",), np.ones((2, 1)), [1, 2], [3, 4], {})
    assert one[-1] == one[1]
    with pytest.raises(IndexError):
        one[2]
