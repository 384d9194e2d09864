"""metrics.domain.packing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.core.grid import Grid
from apps.core.records import MetricRow
from apps.metrics.domain import packing
from apps.metrics.domain.packing import irregular, pack

NUMBERS = st.floats(allow_nan=False)
ROWS = st.lists(
    st.builds(
        MetricRow,
        st.integers(-10, 10**12),
        st.integers(0, 2**61),
        st.dictionaries(st.text(min_size=1, max_size=5), NUMBERS, max_size=5),
        st.one_of(st.none(), st.integers(0, 20_000)),
    ),
    max_size=20,
)


def clean(name):
    return name.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def unpacked(matrices):
    """Every cell as (ranked, step, time, rank, name, value)."""
    for matrix in matrices:
        cells, axis = matrix.cells, matrix.axis
        there = np.ones(cells.values.shape, bool) if cells.present is None else cells.present
        for at, column in np.argwhere(there):
            rank = int(axis.rank[at]) if matrix.ranked else None
            place = (int(axis.step[at]), int(axis.time_ns[at]), rank)
            yield (*place, matrix.names[column], float(cells.values[at, column]))


@given(ROWS)
def test_every_value_is_in_exactly_one_cell(rows):
    given_cells = {
        (row.step, row.time_ns, row.rank, clean(name), value)
        for row in rows
        for name, value in row.values.items()
    }
    found = list(unpacked(pack(rows)))
    assert given_cells >= set(found)
    assert {cell[:4] for cell in given_cells} == {cell[:4] for cell in found}


def test_job_rows_and_rank_rows_lie_apart():
    of_rank = MetricRow(1, 5, {"a": 2.0}, 3)
    job, ranks = pack([MetricRow(1, 5, {"a": 1.0}), of_rank, MetricRow(2, 6, {"b": 3.0})])

    assert (job.ranked, job.names, job.axis.step.tolist()) == (False, ("a", "b"), [1, 2])
    assert (ranks.ranked, ranks.axis.rank.tolist()) == (True, [3])
    assert ranks.cells.values.tolist() == [[2.0]]
    assert job.cells.present.tolist() == [[True, False], [False, True]]


def test_the_same_names_have_the_same_keyset_in_any_order():
    (one,), (two,) = (
        pack([MetricRow(1, 1, values)]) for values in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0})
    )
    (ranked,) = pack([MetricRow(1, 1, {"a": 1.0, "b": 2.0}, 0)])
    assert one.keyset_id == two.keyset_id != ranked.keyset_id


def test_rows_without_values_leave_nothing():
    assert list(pack([MetricRow(1, 1, {})])) == []


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (MetricRow(1, 1, {"": 1.0}), "a metric name has 0 characters; use 1 to 500"),
        (MetricRow(1, 1, {"x" * 501: 1.0}), "has 501 characters"),
        (MetricRow(2**63, 1, {"x": 1.0}), "is out of range"),
        (MetricRow(1, -(2**62), {"x": 1.0}), "is out of range"),
    ],
)
def test_what_cannot_be_stored_is_refused(row, says):
    with pytest.raises(BadPayload, match=says):
        list(pack([row]))


def test_huge_and_odd_values_are_kept():
    (matrix,) = pack([MetricRow(1, 1, {"x": 1e308, "y": math.inf, "z": math.nan})])
    assert matrix.cells.values[0, :2].tolist() == [1e308, math.inf]
    assert math.isnan(matrix.cells.values[0, 2])


def test_repeated_and_backward_steps_are_counted_per_rank():
    steps = [(1, None), (2, None), (2, None), (1, None), (1, 0), (1, 1), (0, 1)]
    found = irregular([MetricRow(step, 1, {"x": 1.0}, rank) for step, rank in steps])
    assert (found.duplicate_steps, found.backward_steps) == (2, 2)


def cells_of(rows):
    return [matrix.cells.values.size for matrix in pack(rows)]


def test_rows_that_share_no_names_do_not_make_a_huge_matrix():
    rows = [MetricRow(at, 1, {f"k{at}_{n}": 1.0 for n in range(10)}) for at in range(2_000)]
    assert max(cells_of(rows)) <= packing.SMALL_CELLS
    assert len(list(unpacked(pack(rows)))) == 20_000


def test_rows_that_share_their_names_lie_together():
    rows = [MetricRow(at, 1, dict.fromkeys("abcdefgh", 1.0)) for at in range(30_000)]
    assert cells_of(rows) == [240_000]


@given(ROWS)
def test_matrices_cut_into_columns_hold_the_same_cells(rows):
    whole = list(pack(rows))
    cut = [column for matrix in whole for column in packing.columns(matrix)]
    assert all(len(column.names) == 1 for column in cut)
    assert sorted(unpacked(cut), key=repr) == sorted(unpacked(whole), key=repr)


@given(
    st.sets(st.text(min_size=1, max_size=4), min_size=1, max_size=4),
    st.lists(st.lists(st.floats(), min_size=4, max_size=4), max_size=9),
)
def test_a_grid_becomes_the_matrices_of_any_other_rows(names, table):
    clean_names = tuple({clean(name) for name in names})
    values = np.array(table, dtype=float).reshape(-1, 4)[:, : len(clean_names)]
    grid = Grid(clean_names, values, range(len(values)), [7] * len(values), {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "MAX_CELLS", 8)
        patch.setattr(packing, "MAX_ROWS", 3)
        one, other = ([repr(list(unpacked([m]))) for m in pack(rows)] for rows in (grid, [*grid]))
    assert one == other
