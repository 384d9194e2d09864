from contextlib import suppress
from functools import reduce
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.state import (
    ACTIVE,
    Act,
    IllegalTransition,
    OrderState,
    transition,
)

FINAL = frozenset(OrderState) - ACTIVE


def _do(state, act):
    return transition(state, act, actor="ada", at_ns=5, why="because")


def _try(state, act):
    with suppress(IllegalTransition):
        return _do(state, act).after
    return state


@pytest.mark.parametrize(
    ("acts", "end"),
    [
        ([Act.ACKNOWLEDGE, Act.RESUME, Act.RECOVER], OrderState.RECOVERED),
        ([Act.ACKNOWLEDGE, Act.RESUME, Act.FAIL], OrderState.FAILED),
        ([Act.RESUME, Act.RECOVER], OrderState.RECOVERED),
        ([Act.CANCEL], OrderState.CANCELLED),
        ([Act.ACKNOWLEDGE, Act.CANCEL], OrderState.CANCELLED),
        ([Act.ACKNOWLEDGE, Act.RESUME, Act.SUPERSEDE], OrderState.SUPERSEDED),
    ],
)
def test_the_usual_ways(acts, end):
    assert reduce(lambda state, act: _do(state, act).after, acts, OrderState.REQUESTED) is end


def test_a_change_says_who_when_and_why():
    change = _do(OrderState.REQUESTED, Act.ACKNOWLEDGE)
    assert (change.before, change.after) == (OrderState.REQUESTED, OrderState.ACKNOWLEDGED)
    assert (change.actor, change.at_ns, change.why) == ("ada", 5, "because")


@given(st.sampled_from(sorted(FINAL)), st.sampled_from(Act))
def test_there_is_no_way_out_of_a_final_state(state, act):
    with pytest.raises(IllegalTransition, match=f"an order that is {state.value}"):
        _do(state, act)


@given(st.lists(st.sampled_from(Act), max_size=8))
def test_every_walk_stays_inside_the_known_states_and_ends_at_most_once(acts):
    walk = list(accumulate(acts, _try, initial=OrderState.REQUESTED))
    assert set(walk) <= ACTIVE | FINAL
    assert len({state for state in walk if state in FINAL}) <= 1


@pytest.mark.parametrize(
    ("state", "act", "hint"),
    [
        (OrderState.RESUMED, Act.CANCEL, "possible now: fail, recover, supersede"),
        (OrderState.REQUESTED, Act.RECOVER, "possible now: acknowledge, cancel, fail, resume"),
        (OrderState.RECOVERED, Act.FAIL, "request a new order"),
    ],
)
def test_a_refusal_says_what_is_possible(state, act, hint):
    with pytest.raises(IllegalTransition) as caught:
        _do(state, act)
    assert caught.value.hint.startswith(hint)
