"""runs.domain.attempts.split_restarts"""

from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import MetricRow
from apps.runs.domain.attempts import split_restarts


def row(step, time_ns, rank=None):
    return MetricRow(step=step, time_ns=time_ns, values={"loss": 1.0}, rank=rank)


def test_rows_that_only_go_forward_stay_together():
    (stretch,) = split_restarts([row(1, 10), row(2, 20)], None, None)
    assert (stretch.restart, stretch.late, len(stretch.rows)) == (False, 0, 2)


def test_a_lower_step_at_a_later_time_begins_a_new_attempt():
    first, second = split_restarts([row(10, 10), row(11, 20), row(5, 30), row(6, 40)], None, None)
    assert [r.step for r in first.rows] == [10, 11]
    assert [r.step for r in second.rows] == [5, 6]
    assert second.restart


def test_the_last_known_step_counts():
    (stretch,) = split_restarts([row(5, 30)], 11, 20)
    assert stretch.restart


def test_a_lower_step_at_an_earlier_time_is_late_and_stays():
    (stretch,) = split_restarts([row(10, 10), row(11, 20), row(9, 15), row(12, 30)], None, None)
    assert (stretch.restart, stretch.late) == (False, 1)


def test_the_same_step_again_is_no_restart():
    (stretch,) = split_restarts([row(10, 10), row(10, 20)], None, None)
    assert (stretch.restart, stretch.late) == (False, 0)


def test_a_single_rank_never_restarts_the_job():
    (stretch,) = split_restarts([row(10, 10), row(3, 20, rank=5)], None, None)
    assert not stretch.restart


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 1000))))
def test_nothing_is_dropped_and_the_order_is_kept(pairs):
    rows = [row(step, time_ns) for step, time_ns in pairs]
    assert [r for s in split_restarts(rows, None, None) for r in s.rows] == rows
