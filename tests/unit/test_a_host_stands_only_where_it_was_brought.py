"""nodes.domain.standing: the life of a host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import Refused
from apps.nodes.domain.standing import BY_PEOPLE, Act, Deed, HostState, Standing, decide

OK, SUSPECTED, CONFIRMED, CORDONED, REPLACED = HostState
NOW = 1_000


def deed(act, **fields):
    return Deed(act, **{"at_ns": NOW, "by": "ada", "reason": "Xid 79", **fields})


def at(state, **fields):
    return Standing(**{"state": state, "since_ns": 500, "by": "eve", "reason": "x", **fields})


def after(state, act, **fields):
    found = decide(at(state, cause="incident:1"), deed(act, **fields))
    return None if found is None else found.state


@pytest.mark.parametrize(
    ("act", "becomes"),
    [
        (Act.SUSPECT, [SUSPECTED, None, None, None, SUSPECTED]),
        (Act.WITHDRAW, [None, OK, None, None, None]),
        (Act.CONFIRM, [CONFIRMED, CONFIRMED, None, None, CONFIRMED]),
        (Act.CORDON, [CORDONED, CORDONED, CORDONED, CORDONED, None]),
        (Act.REPLACE, [REPLACED, REPLACED, REPLACED, REPLACED, None]),
        (Act.CLEAR, [None, OK, OK, OK, OK]),
    ],
)
def test_each_act_leads_where_the_table_says(act, becomes):
    assert [after(state, act) for state in HostState] == becomes


def test_a_release_gives_back_what_was_before_the_cordon_of_the_same_cause():
    held = decide(at(CONFIRMED), deed(Act.CORDON, cause="order:7"))
    freed = decide(held, deed(Act.RELEASE, cause="order:7", reason="RB-7 is cancelled"))
    assert (freed.state, freed.reason, freed.cause) == (CONFIRMED, "RB-7 is cancelled", "")
    assert decide(held, deed(Act.RELEASE, cause="order:8")) is None


def test_what_is_drained_outlives_the_order_that_began_it():
    held = decide(at(SUSPECTED), deed(Act.CORDON, cause="order:7"))
    drained = decide(held, deed(Act.CORDON, cause="drain:7"))
    assert (drained.cause, drained.came_from) == ("drain:7", SUSPECTED)
    assert decide(drained, deed(Act.RELEASE, cause="order:7")) is None


def test_what_a_person_suspects_no_detector_withdraws():
    assert decide(at(SUSPECTED, cause=""), deed(Act.WITHDRAW)) is None


def test_old_news_do_not_bring_a_suspicion_back():
    cleared = at(OK, since_ns=500)
    assert decide(cleared, deed(Act.SUSPECT, known_ns=499)) is None
    assert decide(cleared, deed(Act.CONFIRM, known_ns=499)) is None
    assert decide(cleared, deed(Act.SUSPECT, known_ns=501)).state is SUSPECTED
    assert decide(Standing(), deed(Act.SUSPECT, known_ns=1)).state is SUSPECTED


def test_who_replaced_a_host_may_be_told_later():
    again = decide(at(REPLACED), deed(Act.REPLACE, replaced_by="gpu-b07"))
    assert again.replaced_by == "gpu-b07"


def test_a_reason_is_asked_for():
    with pytest.raises(Refused, match="a reason is missing"):
        decide(Standing(), deed(Act.CORDON, reason=" \n"))


acts = st.builds(
    deed,
    st.sampled_from(Act),
    at_ns=st.integers(1, 10_000),
    cause=st.sampled_from(["", "incident:1", "order:7", "drain:7"]),
    known_ns=st.none() | st.integers(1, 10_000),
)


@given(st.lists(acts, max_size=30))
def test_whatever_happens_a_change_names_who_when_and_why(deeds):
    now = Standing()
    for one in deeds:
        found = decide(now, one)
        if found is not None:
            assert found != now
            assert (found.since_ns, found.by, found.reason) == (one.at_ns, one.by, one.reason)
            now = found
        assert (now.state is CORDONED) or now.came_from is OK


@given(st.lists(acts, max_size=10), st.sampled_from(HostState))
def test_a_person_can_bring_a_host_from_anywhere_to_ok(deeds, _):
    now = Standing()
    for one in deeds:
        now = decide(now, one) or now
    cleared = decide(now, deed(Act.CLEAR))
    assert (cleared or now).state is OK


@given(acts)
def test_no_detector_takes_a_host_back_into_service(one):
    for state in (CORDONED, REPLACED, CONFIRMED):
        found = decide(at(state, cause="incident:1"), one)
        ok = found is not None and found.state is OK
        assert not ok or one.act in (Act.CLEAR, Act.RELEASE)


def test_there_is_an_act_for_every_state_a_person_may_choose():
    assert set(BY_PEOPLE) == set(HostState)
