"""incidents.domain.state."""

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from apps.core.errors import Conflict, Refused
from apps.incidents.domain.incident import (
    UNRESOLVED,
    UNTIL_RESOLVED,
    IncidentState,
    Resolution,
)
from apps.incidents.domain.state import MAX_SILENCE_NS, Act, Deed, Standing, decide, in_words
from tests.incident_samples import SECOND, T0

OPEN, ACKNOWLEDGED, MITIGATED, RESOLVED = IncidentState
HOUR = 3600 * SECOND


def deed(act, **fields):
    values = {"at_ns": T0, "by": "alice", "resolution": Resolution.MANUAL, **fields}
    return Deed(act, **values)


def resolved(how=Resolution.CLOSED, **fields):
    return Standing(RESOLVED, how, resolved_at_ns=T0, **fields)


@pytest.mark.parametrize(
    "state,act,after",
    [
        (OPEN, Act.ACKNOWLEDGE, ACKNOWLEDGED),
        (OPEN, Act.MITIGATE, MITIGATED),
        (OPEN, Act.RESOLVE, RESOLVED),
        (ACKNOWLEDGED, Act.MITIGATE, MITIGATED),
        (ACKNOWLEDGED, Act.RESOLVE, RESOLVED),
        (MITIGATED, Act.RESOLVE, RESOLVED),
        (MITIGATED, Act.REOPEN, OPEN),
        (RESOLVED, Act.REOPEN, OPEN),
    ],
)
def test_the_allowed_changes(state, act, after):
    standing = decide(Standing(state), deed(act))
    assert standing is not None and standing.state is after


@pytest.mark.parametrize("act", [Act.ACKNOWLEDGE, Act.MITIGATE, Act.SILENCE])
def test_what_is_over_must_be_left_alone(act):
    with pytest.raises(Conflict, match=f"a resolved incident cannot be changed by {act}"):
        decide(resolved(), deed(act, reason="why", until_ns=T0 + HOUR))


def test_a_resolution_needs_a_reason():
    with pytest.raises(ValueError, match="a resolution needs a reason"):
        decide(Standing(OPEN), deed(Act.RESOLVE, resolution=Resolution.NONE))


@pytest.mark.parametrize(
    "state,act",
    [
        (OPEN, Act.REOPEN),
        (OPEN, Act.UNSILENCE),
        (OPEN, Act.ASSIGN),
        (ACKNOWLEDGED, Act.ACKNOWLEDGE),
        (MITIGATED, Act.MITIGATE),
        (RESOLVED, Act.RESOLVE),
    ],
)
def test_doing_it_twice_changes_nothing_more(state, act):
    assert decide(Standing(state), deed(act)) is None


def test_a_person_who_acknowledges_what_nobody_owns_owns_it():
    assert decide(Standing(), deed(Act.ACKNOWLEDGE, takes_over=True)).owner == "alice"
    owned = Standing(owner="bob")
    assert decide(owned, deed(Act.ACKNOWLEDGE, takes_over=True)).owner == "bob"
    assert decide(Standing(), deed(Act.ACKNOWLEDGE)).owner == ""


def test_to_acknowledge_what_is_mitigated_names_a_person_and_takes_nothing_back():
    standing = decide(Standing(MITIGATED, mitigated_at_ns=T0), deed(Act.ACKNOWLEDGE))
    assert (standing.state, standing.acknowledged_by) == (MITIGATED, "alice")


def test_a_relapse_is_heard_though_somebody_silenced_what_went_before():
    silenced = Standing(MITIGATED, mitigated_at_ns=T0, silenced_until_ns=T0 + HOUR)
    back = decide(silenced, deed(Act.REOPEN, step=1003, attempt=1))
    assert (back.silenced_until_ns, back.mitigated_at_ns, back.reopened) == (None, None, 1)
    assert (back.relapsed_step, back.relapsed_attempt) == (1003, 1)


def test_a_flapping_signal_stays_silenced_until_the_end_of_the_silence():
    back = decide(resolved(silenced_until_ns=T0 + HOUR), deed(Act.REOPEN))
    assert back.silenced_until_ns == T0 + HOUR


def test_a_silence_until_resolved_ends_with_the_incident():
    ended = decide(Standing(silenced_until_ns=UNTIL_RESOLVED), deed(Act.RESOLVE))
    assert ended.silenced_until_ns is None


@pytest.mark.parametrize("until_ns", [0, T0, T0 - 1, T0 + MAX_SILENCE_NS + 1, UNTIL_RESOLVED + 1])
def test_a_silence_has_an_end(until_ns):
    with pytest.raises(Refused, match="a silence ends in the future and within 30 days"):
        decide(Standing(), deed(Act.SILENCE, until_ns=until_ns, reason="known"))


def test_a_silence_needs_a_reason():
    with pytest.raises(Refused, match="a reason is missing"):
        decide(Standing(), deed(Act.SILENCE, until_ns=T0 + HOUR, reason="  "))


@pytest.mark.parametrize(
    "done,words",
    [
        (deed(Act.RESOLVE, reason="skipped"), "resolved (manual): skipped"),
        (deed(Act.REOPEN, step=1003, attempt=1), "reopened: it came back at step 1,003 in attempt"),
        (deed(Act.SILENCE, until_ns=UNTIL_RESOLVED, reason="x"), "silenced until it is resolved"),
        (deed(Act.SILENCE, until_ns=T0, reason="x"), "silenced until 2025-06-15 15:06 UTC: x"),
        (deed(Act.ASSIGN), "assigned to nobody"),
    ],
)
def test_an_act_is_told_in_one_line(done, words):
    assert in_words(done).startswith(words)


class Life(RuleBasedStateMachine):
    """Any acts in any order, some refused; time goes on."""

    @initialize()
    def opened(self):
        self.now, self.clock, self.before = Standing(), T0, Standing()

    @rule(
        act=st.sampled_from(Act),
        wait_ns=st.integers(0, HOUR),
        resolution=st.sampled_from([r for r in Resolution if r]),
        owner=st.sampled_from(["", "alice", "bob"]),
        until=st.sampled_from([HOUR, 4 * HOUR, UNTIL_RESOLVED, -1]),
        takes_over=st.booleans(),
    )
    def act(self, act, wait_ns, **fields):
        self.clock += wait_ns
        until = fields.pop("until")
        until_ns = until if until == UNTIL_RESOLVED else self.clock + until
        done = Deed(act, self.clock, "carol", "why", until_ns=until_ns, **fields)
        self.before = self.now
        try:
            self.now = decide(self.now, done) or self.now
        except (Conflict, Refused):
            return
        assert decide(self.now, done) is None

    @invariant()
    def it_is_resolved_with_a_reason_and_a_time_or_not_at_all(self):
        over = self.now.state is RESOLVED
        assert over == bool(self.now.resolution) == (self.now.resolved_at_ns is not None)

    @invariant()
    def what_is_acknowledged_or_mitigated_says_since_when(self):
        assert self.now.state is not ACKNOWLEDGED or self.now.acknowledged_at_ns is not None
        assert self.now.state is not MITIGATED or self.now.mitigated_at_ns is not None
        assert self.now.state not in (OPEN, ACKNOWLEDGED) or self.now.mitigated_at_ns is None

    @invariant()
    def a_silence_has_a_reason_and_outlives_no_end_it_waits_for(self):
        silenced = self.now.silenced_until_ns is not None
        assert silenced == bool(self.now.silence_reason) == bool(self.now.silenced_by)
        assert self.now.silenced_until_ns != UNTIL_RESOLVED or self.now.unresolved

    @invariant()
    def only_a_return_goes_back_and_every_return_is_counted(self):
        order = list(IncidentState)
        back = order.index(self.now.state) < order.index(self.before.state)
        assert self.now.reopened == self.before.reopened + back
        assert not back or self.now.state is OPEN

    @invariant()
    def an_owner_or_a_silence_never_moves_the_state(self):
        same = replace(
            self.now,
            owner=self.before.owner,
            silenced_until_ns=self.before.silenced_until_ns,
            silenced_by=self.before.silenced_by,
            silence_reason=self.before.silence_reason,
        )
        assert same == self.before or self.now.state is not self.before.state or (
            self.now.acknowledged_by != self.before.acknowledged_by
        )  # fmt: skip


TestAnyLife = Life.TestCase


def test_the_unresolved_states_are_all_but_the_last():
    assert tuple(IncidentState)[:-1] == UNRESOLVED
