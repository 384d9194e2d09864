"""alerts.domain.lifecycle: which messages, and when."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.alerts.domain.lifecycle import (
    AlertPolicy,
    Kind,
    Message,
    Status,
    Wanted,
    decide,
    forgotten,
    over,
    still_wanted,
)
from apps.incidents.domain.incident import IncidentState, Resolution
from tests.incident_samples import SECOND, at, incident

OPENED = at(1003)
POLICY = AlertPolicy()


def _resolved(how=Resolution.CLOSED, after_s=60, **fields):
    return incident(
        state=IncidentState.RESOLVED,
        resolution=how.value,
        resolved_at_ns=OPENED + after_s * SECOND,
        **fields,
    )


def _opening(status=Status.SENT, seq=0):
    return Message(Kind.OPENING, seq, status)


def _closing(status=Status.SENT, seq=0):
    return Message(Kind.CLOSING, seq, status)


def _kinds(decision):
    return [(w.kind, w.seq) for w in decision.wanted]


def test_a_paging_incident_is_announced_at_once():
    wanted = decide(incident(), [], OPENED).wanted
    assert wanted[0] == Wanted(Kind.OPENING, 0, OPENED)


def test_an_incident_that_does_not_page_sends_nothing():
    assert decide(incident(page=False), [], OPENED).wanted == ()
    assert decide(_resolved(page=False), [], OPENED).wanted == ()


def test_a_dead_job_waits_ten_seconds_for_late_lines():
    unsettled = incident(kind="failure", settled=False)
    assert decide(unsettled, [], OPENED).wanted[0].due_ns == OPENED + 10 * SECOND


def test_a_settled_dead_job_does_not_wait():
    settled = incident(kind="failure", settled=True)
    pending = [_opening(Status.PENDING)]
    assert decide(settled, pending, OPENED + SECOND).wanted[0] == Wanted(Kind.OPENING, 0, OPENED)


def test_an_announced_incident_is_not_announced_again():
    assert (Kind.OPENING, 0) not in _kinds(decide(incident(), [_opening()], OPENED + SECOND))


def test_an_end_by_itself_is_announced_after_the_hold():
    resolved = _resolved()
    wanted = decide(resolved, [_opening()], OPENED + 61 * SECOND).wanted
    assert wanted == (Wanted(Kind.CLOSING, 0, OPENED + 70 * SECOND),)


@pytest.mark.parametrize("how", [Resolution.RECOVERED, Resolution.MANUAL])
def test_a_declared_end_is_announced_at_once(how):
    wanted = decide(_resolved(how), [_opening()], OPENED + 61 * SECOND).wanted
    assert wanted == (Wanted(Kind.CLOSING, 0, OPENED + 60 * SECOND),)


def test_an_end_that_was_announced_is_not_announced_again():
    assert decide(_resolved(), [_opening(), _closing()], OPENED + 99 * SECOND).wanted == ()


@pytest.mark.parametrize("messages", [[], [_opening(Status.PENDING)]])
def test_an_incident_that_ended_unannounced_gets_its_one_message_at_once(messages):
    wanted = decide(_resolved(), messages, OPENED + 61 * SECOND).wanted
    assert wanted == (Wanted(Kind.OPENING, 0, OPENED + 60 * SECOND),)


def test_a_message_that_told_the_end_too_needs_no_closing_one():
    messages = [_opening(), _closing(Status.FOLDED)]
    assert decide(_resolved(), messages, OPENED + 99 * SECOND).wanted == ()


def test_a_return_before_the_closing_message_withdraws_it_and_sends_nothing():
    back = incident(reopened=1)
    decision = decide(back, [_opening(), _closing(Status.PENDING)], OPENED + 65 * SECOND)
    assert decision.withdrawn == ((Kind.CLOSING, 0),)
    assert _kinds(decision) == [(Kind.REMINDER, 1)]


def test_a_return_after_the_closing_message_is_announced_once_more():
    now = OPENED + 200 * SECOND
    back = incident(reopened=1)
    messages = [_opening(), _closing()]
    assert Wanted(Kind.OPENING, 1, now) in decide(back, messages, now).wanted
    planned = [*messages, _opening(Status.PENDING, seq=1)]
    assert (Kind.OPENING, 1) not in _kinds(decide(back, planned, now + SECOND))


@pytest.mark.parametrize("reopened,hold_s", [(0, 10), (1, 40), (2, 160), (9, 3600), (400, 3600)])
def test_each_return_makes_the_hold_longer(reopened, hold_s):
    resolved = _resolved(reopened=reopened)
    assert not over(resolved, resolved.resolved_at_ns + hold_s * SECOND - 1)
    assert over(resolved, resolved.resolved_at_ns + hold_s * SECOND)


def test_a_reminder_comes_after_an_hour_and_then_every_four():
    first = decide(incident(), [_opening()], OPENED).wanted
    assert first == (Wanted(Kind.REMINDER, 1, OPENED + 3600 * SECOND),)
    later = OPENED + 3601 * SECOND
    sent = [_opening(), Message(Kind.REMINDER, 1, Status.SENT)]
    second = decide(incident(), sent, later).wanted
    assert second == (Wanted(Kind.REMINDER, 2, later + 14_400 * SECOND),)


def test_an_acknowledged_incident_is_not_reminded_of():
    taken = incident(state=IncidentState.ACKNOWLEDGED)
    assert decide(taken, [_opening()], OPENED).wanted == ()
    assert not still_wanted(Kind.REMINDER, taken)


@pytest.mark.parametrize("ended", [incident(state=IncidentState.ACKNOWLEDGED), _resolved()])
def test_a_waiting_reminder_is_withdrawn_when_somebody_cares_or_it_is_over(ended):
    messages = [_opening(), Message(Kind.REMINDER, 1, Status.PENDING)]
    assert decide(ended, messages, OPENED).withdrawn == ((Kind.REMINDER, 1),)


def test_a_closing_message_is_dropped_when_the_incident_is_back():
    assert not still_wanted(Kind.CLOSING, incident())
    assert still_wanted(Kind.CLOSING, _resolved())


def test_what_happened_days_ago_is_not_announced_any_more():
    days = OPENED + 3 * 86_400 * SECOND
    assert forgotten(incident(), [], days)
    assert not forgotten(incident(), [_opening(Status.PENDING)], days)
    assert decide(_resolved(), [_opening()], days).wanted == ()


def _play(moments, policy):
    """Let an incident end and come back; the worker looks every second. Returns what was sent."""
    state, sent, now = incident(), {}, OPENED
    for stay_s, back in moments:
        for _second in range(stay_s):
            now += SECOND
            messages = [Message(kind, seq, status) for (kind, seq), status in sent.items()]
            decision = decide(state, messages, now, policy)
            sent.update(dict.fromkeys(decision.withdrawn, Status.WITHDRAWN))
            due = [w for w in decision.wanted if w.due_ns <= now and w.kind is not Kind.REMINDER]
            sent.update({(w.kind, w.seq): Status.SENT for w in due})
        if back and state.state is IncidentState.RESOLVED:
            state = replace(
                state,
                state=IncidentState.OPEN,
                resolved_at_ns=None,
                resolution="",
                reopened=state.reopened + 1,
            )
        elif not back and state.state is IncidentState.OPEN:
            state = replace(
                state, state=IncidentState.RESOLVED, resolved_at_ns=now, resolution="closed"
            )
    return [key for key, status in sent.items() if status is Status.SENT]


def test_a_flapping_signal_sends_exactly_one_opening_and_one_closing_message():
    flaps = [(5, False), (5, True)] * 8 + [(5, False), (4000, False)]
    assert _play(flaps, POLICY) == [(Kind.OPENING, 0), (Kind.CLOSING, 0)]


@given(st.lists(st.tuples(st.integers(1, 90), st.booleans()), max_size=12))
def test_openings_and_closings_alternate_whatever_the_signal_does(moments):
    sent = _play(moments, POLICY)
    expected = [
        (Kind.OPENING, n // 2) if n % 2 == 0 else (Kind.CLOSING, n // 2) for n in range(len(sent))
    ]
    assert sent == expected
