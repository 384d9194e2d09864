"""The pure part of a hand-over: which step is next, and what a step is called."""

import re

from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.handover import (
    GIVE_UP_S,
    Effect,
    Move,
    Step,
    StepState,
    known,
    mark,
    next_move,
    too_long,
)

KEYS = ("find", "stop", "submit")
STATES = st.lists(st.sampled_from(StepState), min_size=3, max_size=3)


def steps(states):
    return [Step(Effect(key, key), state) for key, state in zip(KEYS, states, strict=True)]


@given(STATES)
def test_a_step_that_was_begun_is_looked_up_and_no_step_is_left_out(states):
    move, step = next_move(steps(states))
    ahead = [key for key, state in zip(KEYS, states, strict=True) if state is not StepState.DONE]
    assert [step.effect.key] == ahead[:1] if step else ahead == []
    wanted = {None: Move.FINISH, StepState.DOING: Move.LOOK, StepState.PLANNED: Move.BEGIN}
    assert move is wanted[step.state if step else None]


def test_a_later_step_knows_better():
    found = [Step(Effect(k, k), StepState.DONE, found=f) for k, f in
             (("a", {"job": "1", "exclude": "n1"}), ("b", {"job": "2"}))]  # fmt: skip
    assert known(found) == {"job": "2", "exclude": "n1"}


@given(st.text(), st.integers(0, 2**62), st.integers(0, 2**62))
def test_a_mark_fits_every_launcher(run, order, at_ns):
    assert re.fullmatch(r"rb-\d{1,19}-[0-9a-f]{8}", mark(run, order, at_ns))
    assert mark(run, order, at_ns) != mark(run, order, at_ns + 1)


def test_a_step_is_put_off_for_ten_minutes_at_most():
    step = Step(Effect("stop", "stop"), StepState.DOING, began_at_ns=10**18)
    assert not too_long(step, 10**18 + int(GIVE_UP_S * 1e9))
    assert too_long(step, 10**18 + int(GIVE_UP_S * 1e9) + 1)
    assert not too_long(Step(Effect("stop", "stop"), StepState.PLANNED), 10**18)
