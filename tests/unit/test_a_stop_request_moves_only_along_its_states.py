"""runs.domain.stop: a request is told once, taken back only before, over when the attempt is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.runs.domain.stop import ACTIVE, Act, StopState, transition

REQUESTED, DELIVERED = StopState.REQUESTED, StopState.DELIVERED


@pytest.mark.parametrize(("state", "act", "after"), [
    (REQUESTED, Act.DELIVER, DELIVERED),
    (DELIVERED, Act.DELIVER, None),
    (DELIVERED, Act.END, StopState.STOPPED),
    (REQUESTED, Act.END, StopState.OVERTAKEN),
    (REQUESTED, Act.CANCEL, StopState.CANCELLED),
    (StopState.CANCELLED, Act.CANCEL, None),
])  # fmt: skip
def test_each_act_has_its_place(state, act, after):
    assert transition(state, act) is after


@pytest.mark.parametrize("state", [DELIVERED, StopState.STOPPED, StopState.OVERTAKEN])
def test_what_was_told_cannot_be_taken_back(state):
    with pytest.raises(AppError, match="cannot be taken back"):
        transition(state, Act.CANCEL)


@given(st.lists(st.sampled_from([Act.DELIVER, Act.END])))
def test_what_is_over_stays_over(acts):
    state, seen = REQUESTED, []
    for act in acts:
        state = transition(state, act) or state
        seen.append(state in ACTIVE)
    assert seen == sorted(seen, reverse=True)
