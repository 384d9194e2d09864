"""ingest.pace"""

from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.pace import Pace

ONE, OTHER = (1, 0), (2, 0)
SECONDS = st.floats(0, 1e6)


def test_a_quick_one_may_go_on():
    pace = Pace(quick_s=0.5)
    pace.ended(ONE, 10.0, 10.5)
    assert pace.may(ONE, 10.5)


def test_a_failure_that_is_not_settled_rests_no_longer_than_it_took():
    pace = Pace(quick_s=0.5)
    pace.ended(ONE, 10.0, 13.0, urgent=True)
    assert [pace.may(ONE, at) for at in (15.9, 16.0)] == [False, True]


def test_a_slow_one_rests_and_the_other_does_not():
    pace = Pace(quick_s=0.5, rest=10.0)
    pace.ended(ONE, 10.0, 12.0)
    assert [pace.may(ONE, at) for at in (12.0, 31.9, 32.0)] == [False, False, True]
    assert pace.may(OTHER, 12.0)


def test_those_that_have_rested_are_forgotten():
    pace = Pace(quick_s=0.0, rest=1.0)
    for run in range(1_000):
        pace.ended((run, 0), run * 10.0, run * 10.0 + 1.0)
    assert len(pace._until_s) == 1


@given(st.lists(st.floats(0.001, 100.0), min_size=1, max_size=50))
def test_it_never_costs_more_than_its_share(durations):
    """An attempt that is always due, on a clock that jumps to when it may run."""
    pace, now, busy = Pace(quick_s=0.0, rest=10.0), 0.0, 0.0
    for took in durations:
        now = max(now, pace._until_s.get(ONE, now))
        assert pace.may(ONE, now)
        pace.ended(ONE, now, now + took)
        now, busy = now + took, busy + took
    assert busy <= pace._until_s[ONE] / 10.9
