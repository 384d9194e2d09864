"""checkpoints.domain.saves: failed, late and slow saves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.saves import FAILED, LATE, SLOW, Saved, Training, judge
from apps.core.records import FindingSeverity

T0 = 1_800_000_000_000_000_000
S = 1_000_000_000
UNFINISHED = (("NO_COMMIT_MARKER", "no .metadata file"),)
TRUNCATED = (("TRUNCATED", "1 file shorter than .metadata says"),)
WARN, PAGE = FindingSeverity.WARN, FindingSeverity.PAGE


def saved(step, *, save_s=10.0, faults=(), attempt=0):
    """A job of two seconds a step that saves every 100."""
    return Saved(attempt, step, T0 + 2 * step * S, save_s, faults)


def now(step, *, attempt=0, first_step=0, started_s=0):
    return Training(attempt, first_step, step, T0 + started_s * S, T0 + 2 * step * S)


def told(saves, training):
    return {f.kind: f for f in judge(saves, training)}


HEALTHY = [saved(step) for step in range(100, 1_000, 100)]


def test_regular_saves_are_silent():
    assert judge(HEALTHY, now(990)) == []
    assert judge([], now(10_000)) == []


def test_a_broken_save_warns_and_says_what_is_at_risk():
    found = told([*HEALTHY, saved(1_000, faults=TRUNCATED)], now(1_001))[FAILED]
    assert found.severity is WARN
    assert found.key == "save_failed:a0:s1000"
    texts = [e.text for e in found.evidence]
    assert texts == [
        "1 file shorter than .metadata says",
        "a fault now would cost 101 steps (3 min)",
    ]


def test_a_save_without_its_commit_marker_has_three_save_times_to_finish():
    saves = [*HEALTHY, saved(1_000, faults=UNFINISHED, save_s=None)]
    assert FAILED not in told(saves, now(1_025))
    assert FAILED in told(saves, now(1_031))


def test_two_failed_saves_in_a_row_page_and_a_good_one_ends_it():
    saves = [*HEALTHY, saved(1_000, faults=TRUNCATED), saved(1_100, faults=TRUNCATED)]
    found = told(saves, now(1_101))[FAILED]
    assert (found.severity, found.key) == (PAGE, "save_failed:a0:s1000")
    assert found.title == "2 saves failed, the first at step 1,000"
    assert judge([*saves, saved(1_200)], now(1_201)) == []


def test_files_of_an_unknown_kind_are_no_failure():
    """Nobody can say whether a plain torch.save is whole: no fault is known of it."""
    assert judge([saved(step, save_s=None) for step in range(100, 500, 100)], now(450)) == []


def test_no_save_for_twice_the_usual_interval_warns():
    assert LATE not in told(HEALTHY, now(1_100))
    found = told(HEALTHY, now(1_120))[LATE]
    assert (found.severity, found.onset_step) == (WARN, 900)
    assert found.facts["at_risk_steps"] == 220
    assert found.title == "no checkpoint since step 900: 7 min would be lost"


def test_several_intervals_and_an_hour_without_a_save_page():
    assert told(HEALTHY, now(1_800))[LATE].severity is WARN
    assert told(HEALTHY, now(2_800))[LATE].severity is PAGE


def test_a_job_that_stands_still_is_not_late():
    """The time passes without steps: a fault costs no more than before."""
    waits = Training(0, 0, 950, T0, T0 + 90_000 * S)
    assert judge(HEALTHY, waits) == []


def test_a_new_attempt_knows_the_interval_and_counts_from_its_beginning():
    begun = now(1_200, attempt=1, first_step=901, started_s=1_900)
    assert told(HEALTHY, begun)[LATE].key == "save_late:a1:s901"
    assert judge(HEALTHY, now(1_000, attempt=1, first_step=901, started_s=1_900)) == []


def test_saves_that_take_three_times_as_long_warn_from_the_second_on():
    slow = [*HEALTHY, saved(1_000, save_s=90)]
    assert judge(slow, now(1_001)) == []
    found = told([*slow, saved(1_100, save_s=95)], now(1_101))[SLOW]
    assert (found.severity, found.key) == (WARN, "save_slow:a0:s1000")
    assert found.title == "saves take 1 min, usually 10 s"
    assert judge([*slow, saved(1_100, save_s=95), saved(1_200)], now(1_201)) == []


@pytest.mark.parametrize("save_s", [11.0, 29.0, 39.0])
def test_some_seconds_more_are_no_news(save_s):
    assert (
        judge([*HEALTHY, saved(1_000, save_s=save_s), saved(1_100, save_s=save_s)], now(1_101))
        == []
    )


@given(
    st.lists(st.tuples(st.integers(1, 300), st.floats(0, 500), st.booleans()), max_size=40),
    st.integers(0, 10_000),
)
def test_each_kind_is_told_at_most_once_with_a_key_of_its_own(steps, more):
    at, saves = 0, []
    for gap, save_s, broken in steps:
        at += gap
        saves.append(saved(at, save_s=save_s, faults=TRUNCATED if broken else ()))
    found = judge(saves, now(at + more))
    assert len({f.key for f in found}) == len({f.kind for f in found}) == len(found)
    assert all(f.closed_step is None and f.severity in (WARN, PAGE) for f in found)
