"""alerts.domain.lifecycle: which messages, and when."""

from dataclasses import replace

import pytest

from apps.alerts.domain.lifecycle import Reader, decide
from apps.alerts.domain.message import Kind, Message, Status, Wanted
from apps.alerts.domain.timing import AlertPolicy, forgotten, over, ready_ns
from apps.incidents.domain.incident import IncidentState, Resolution
from tests.incident_samples import SECOND, WARN, at, incident
from tests.outbox import Outbox

OPENED = at(1003)
HOUR = 3600


def _resolved(how=Resolution.CLOSED, after_s=60, **fields):
    return incident(
        state=IncidentState.RESOLVED,
        resolution=how.value,
        resolved_at_ns=OPENED + after_s * SECOND,
        **fields,
    )


def _opening(status=Status.SENT, seq=0, **fields):
    return Message(Kind.OPENING, seq, status, **fields)


def _closing(status=Status.SENT, seq=0, **fields):
    return Message(Kind.CLOSING, seq, status, **fields)


def _kinds(decision):
    return [(w.kind, w.seq) for w in decision.wanted]


def test_a_paging_incident_is_announced_at_once():
    wanted = decide(incident(), [], OPENED).wanted
    assert wanted[0] == Wanted(Kind.OPENING, 0, OPENED)


def test_whom_no_rule_sends_it_to_gets_nothing_new_but_the_end_of_what_was_opened():
    nobody = Reader(routed=False)
    assert decide(incident(), [], OPENED, reader=nobody).wanted == ()
    assert decide(incident(), [_opening(Status.PENDING)], OPENED, reader=nobody).withdrawn
    assert _kinds(decide(_resolved(), [_opening()], OPENED, reader=nobody)) == [(Kind.CLOSING, 0)]


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
    planned = [*messages, _opening(Status.PENDING, seq=1, due_ns=now)]
    assert Wanted(Kind.OPENING, 1, now) in decide(back, planned, now + SECOND).wanted


@pytest.mark.parametrize("reopened,hold_s", [(0, 10), (1, 40), (2, 160), (9, 3600), (400, 3600)])
def test_each_return_makes_the_hold_longer(reopened, hold_s):
    resolved = _resolved(reopened=reopened)
    assert not over(resolved, resolved.resolved_at_ns + hold_s * SECOND - 1)
    assert over(resolved, resolved.resolved_at_ns + hold_s * SECOND)


def test_a_reminder_comes_after_an_hour_and_then_every_four():
    opening = _opening(told_ns=OPENED)
    first = decide(incident(), [opening], OPENED).wanted
    assert first == (Wanted(Kind.REMINDER, 1, OPENED + HOUR * SECOND),)
    later = OPENED + (HOUR + 1) * SECOND
    sent = [opening, Message(Kind.REMINDER, 1, Status.SENT, told_ns=later)]
    second = decide(incident(), sent, later + 5 * SECOND).wanted
    assert second == (Wanted(Kind.REMINDER, 2, later + 4 * HOUR * SECOND),)


def test_a_relapse_is_told_at_once_and_then_in_the_usual_rhythm():
    back = incident(reopened=1, relapsed_step=1003, relapsed_at_ns=OPENED + 600 * SECOND)
    opening, told = _opening(told_ns=OPENED), OPENED + 605 * SECOND
    assert decide(back, [opening], told).wanted == (
        Wanted(Kind.REMINDER, 1, OPENED + 600 * SECOND),
    )
    sent = [opening, Message(Kind.REMINDER, 1, Status.SENT, told_ns=told)]
    assert decide(back, sent, told).wanted == (Wanted(Kind.REMINDER, 2, told + 4 * HOUR * SECOND),)


@pytest.mark.parametrize("state", [IncidentState.ACKNOWLEDGED, IncidentState.MITIGATED])
def test_an_incident_that_somebody_takes_care_of_is_not_reminded_of(state):
    taken = incident(state=state)
    assert decide(taken, [_opening()], OPENED).wanted == ()
    assert ready_ns(Kind.REMINDER, taken, OPENED) is None


@pytest.mark.parametrize("ended", [incident(state=IncidentState.ACKNOWLEDGED), _resolved()])
def test_a_waiting_reminder_is_withdrawn_when_somebody_cares_or_it_is_over(ended):
    messages = [_opening(), Message(Kind.REMINDER, 1, Status.PENDING)]
    assert decide(ended, messages, OPENED).withdrawn == ((Kind.REMINDER, 1),)


def test_a_closing_message_is_dropped_when_the_incident_is_back():
    assert ready_ns(Kind.CLOSING, incident(), OPENED) is None
    assert ready_ns(Kind.CLOSING, _resolved(), OPENED) == OPENED


def test_what_happened_days_ago_is_not_announced_any_more():
    days = OPENED + 3 * 86_400 * SECOND
    assert forgotten(incident(), [], days)
    assert not forgotten(incident(), [_opening(Status.PENDING)], days)
    assert decide(_resolved(), [_opening()], days).wanted == ()


def _play(flaps, box, end_s=2 * HOUR, **fields):
    """An incident that ends and comes back after the given seconds, in turn; a look each second."""
    info, now = incident(**fields), OPENED
    moments = [OPENED + sum(flaps[: n + 1]) * SECOND for n in range(len(flaps))]
    while now < OPENED + (sum(flaps) + end_s) * SECOND:
        now += SECOND
        if now in moments and info.state is IncidentState.OPEN:
            gone = {"state": IncidentState.RESOLVED, "resolution": "closed"}
            info = replace(info, resolved_at_ns=now, **gone)
        elif now in moments:
            again = info.reopened + 1
            info = replace(info, state=IncidentState.OPEN, resolved_at_ns=None, reopened=again)
        if now in moments or now % (5 * SECOND) == 0:
            box.turn(info, now)
    return box


def test_a_flapping_signal_sends_exactly_one_opening_and_one_closing_message():
    box = _play([5] * 17, Outbox())
    assert box.kinds() == [Kind.OPENING, Kind.CLOSING]


def test_a_signal_that_flaps_slowly_is_called_flapping_and_then_left_alone():
    eager = AlertPolicy(hold_growth=1.0)
    box = _play([60] * 29, Outbox(policy=eager))
    assert box.kinds() == [*[Kind.OPENING, Kind.CLOSING] * 3, Kind.FLAPPING, Kind.CLOSING]
    assert box.sent[-1][2] - box.sent[-2][2] > HOUR * SECOND


def test_a_warning_is_quiet_and_a_page_that_was_one_is_not():
    quiet = incident(severity=WARN, page=False)
    assert decide(quiet, [], OPENED).wanted == (
        Wanted(Kind.OPENING, 0, OPENED + 300 * SECOND, urgent=False),
    )
    waiting = _opening(Status.PENDING, due_ns=OPENED + 300 * SECOND, urgent=False)
    now = OPENED + 20 * SECOND
    assert decide(incident(), [waiting], now).wanted == (Wanted(Kind.OPENING, 0, OPENED),)
    told = _opening(urgent=False, told_ns=now)
    assert Wanted(Kind.ESCALATION, 0, now) in decide(incident(), [told], now).wanted


def test_a_warning_is_not_reminded_of():
    told = [_opening(urgent=False, told_ns=OPENED)]
    assert decide(incident(severity=WARN, page=False), told, OPENED).wanted == ()


def test_while_it_is_silenced_everything_waits_for_the_end_of_the_silence():
    until = OPENED + 1800 * SECOND
    silenced = incident(silenced_until_ns=until)
    assert [w.due_ns for w in decide(silenced, [], OPENED).wanted] == [until]
    told = [_opening(told_ns=OPENED)]
    assert decide(silenced, told, OPENED).wanted == (Wanted(Kind.REMINDER, 1, until),)
    ended = _resolved(silenced_until_ns=until)
    assert decide(ended, told, OPENED + 70 * SECOND).wanted == (Wanted(Kind.CLOSING, 0, until),)


def test_an_incident_that_is_still_open_when_the_silence_ends_is_reminded_of_once():
    silenced = incident(silenced_until_ns=OPENED + 1800 * SECOND)
    box = Outbox()
    box.turn(incident(), OPENED)
    for minute in range(1, 120):
        box.turn(silenced, OPENED + minute * 60 * SECOND)
    assert [(kind, (told - OPENED) // (60 * SECOND)) for kind, _, told in box.sent] == [
        (Kind.OPENING, 0),
        (Kind.REMINDER, 30),
    ]


def test_what_ends_while_it_is_silenced_and_was_never_announced_never_is():
    until = OPENED + 1800 * SECOND
    ended = _resolved(silenced_until_ns=until)
    waiting = [_opening(Status.PENDING, due_ns=until)]
    assert decide(ended, waiting, OPENED + 70 * SECOND).withdrawn == ((Kind.OPENING, 0),)
    assert decide(ended, [], OPENED + 70 * SECOND).wanted == ()


def test_somebody_new_on_the_list_is_not_told_what_ended_hours_ago():
    assert decide(_resolved(), [], OPENED + 2 * HOUR * SECOND).wanted == ()
