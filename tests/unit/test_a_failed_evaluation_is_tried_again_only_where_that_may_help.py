"""apps.checkpoints.domain.evaluating: what becomes of a try, and what is due."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.evaluating import RETRY_S, How, State, after, due


@pytest.mark.parametrize(
    ("how", "state"),
    [
        (How.DONE, State.DONE), (How.EXIT, State.WAITING), (How.LOST, State.WAITING),
        (How.UNSTARTED, State.WAITING), (How.TIMEOUT, State.FAILED), (How.NO_RESULT, State.FAILED),
        (How.CHANGED, State.FAILED), (How.REFUSED, State.FAILED), (How.STOPPED, State.WAITING),
        (How.CANCELLED, State.CANCELLED),
    ],
)  # fmt: skip
def test_the_first_of_two_tries(how, state):
    assert after(how, 1, 2).state is state


@pytest.mark.parametrize("how", [How.EXIT, How.LOST, How.UNSTARTED])
def test_the_last_try_is_the_last(how):
    assert after(how, 2, 2).state is State.FAILED


def test_each_wait_is_twice_the_one_before():
    assert [after(How.EXIT, n, 5).wait_s for n in (1, 2, 3)] == [RETRY_S, RETRY_S * 2, RETRY_S * 4]


def test_a_restart_of_ours_is_no_try_and_no_wait():
    then = after(How.STOPPED, 9, 2)
    assert (then.state, then.wait_s, then.counts) == (State.WAITING, 0, False)


def test_steps_are_due_at_their_distance_from_what_is_evaluated():
    assert due([100, 200, 300, 400, 500], [100], 200) == [300, 500]
    assert due([100, 200], [], 1_000) == [100]


_steps = st.lists(st.integers(0, 500), unique=True).map(sorted)


@given(_steps, _steps, st.integers(1, 100))
def test_what_is_due_keeps_its_distance_and_leaves_no_gap(saved, known, every):
    chosen = due(saved, known, every)
    assert chosen == sorted(chosen)
    placed = sorted({*chosen, *known})
    for step in chosen:
        assert min((abs(step - p) for p in placed if p != step), default=every) >= every
    for step in saved:
        assert any(abs(step - p) < every for p in placed)
    assert due(saved, placed, every) == []
