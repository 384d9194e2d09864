"""incidents.domain.timeline."""

import pytest

from apps.core.records import Evidence, Suspect
from apps.incidents.domain.incident import EarliestSignal, IncidentState
from apps.incidents.domain.timeline import Happening, Mark, Role, compose, shortened
from tests.incident_samples import (
    INFO,
    SECOND,
    at,
    ended,
    explosion,
    failure,
    finding,
    incident,
    level_shift,
    rank_outlier,
)

NOW = at(1300)


def _texts(items):
    return [i.text for i in items]


def _marked(items):
    return {i.mark: i for i in items if i.mark is not None}


def test_findings_checkpoints_nodes_attempts_and_orders_are_in_one_order():
    happenings = [
        Happening(at(1200), "order", "rollback to step 900 requested"),
        Happening(at(900), "checkpoint", "checkpoint of step 900", step=900),
        Happening(at(0), "attempt", "attempt 0 started"),
        Happening(at(990), "node", "xid 79", node="gpu-b02"),
    ]
    items = compose(incident(), [explosion()], happenings, NOW)
    assert [i.source for i in items] == [
        "attempt",
        "checkpoint",
        "node",
        "finding",
        "order",
        "incident",
    ]


def test_onset_and_now_are_marked():
    marked = _marked(compose(incident(), [explosion()], [], NOW))
    assert marked[Mark.ONSET].step == 1001
    assert marked[Mark.NOW].time_ns == NOW
    assert Mark.FIRST not in marked


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (0, "layer 4, activation max left its band, 16 steps before the onset"),
        (2, "layer 4, activation max and 2 more layers left their band, 16 steps before the onset"),
    ],
)
def test_the_earliest_signal_is_the_first_mark(more, words):
    signal = EarliestSignal(
        "act_max/layers.4", 985, at(985), "layer 4", None, 16, 16.0, more, "layer 4, activation max"
    )
    marked = _marked(compose(incident(earliest_signal=signal), [explosion()], [], NOW))
    assert marked[Mark.FIRST].text == words


def test_a_resolved_incident_has_no_now():
    done = incident(state=IncidentState.RESOLVED, resolved_at_ns=at(1250))
    assert Mark.NOW not in _marked(compose(done, [explosion(**ended())], [], NOW))


def test_what_came_first_is_initiating_and_what_followed_a_cascade():
    shifted = incident(onset_step=701, onset_time_ns=at(701))
    items = compose(shifted, [level_shift(), rank_outlier()], [], NOW)
    assert [i.role for i in items if i.source == "finding"] == [Role.INITIATING, Role.CASCADE]


def test_a_quiet_finding_claims_no_role():
    quiet = finding("o", "outlier", 1010, INFO)
    items = compose(incident(), [explosion(), quiet], [], NOW)
    assert [i.role for i in items if i.text == quiet.title] == [Role.UNKNOWN]


def test_log_lines_of_the_accused_rank_start_it_and_those_of_others_follow():
    evidence = (
        Evidence("ValueError: bad batch", time_ns=at(120), rank=6, node="gpu-b02"),
        Evidence("Connection closed by peer", time_ns=at(121), rank=1, node="gpu-a01"),
    )
    dead = incident(kind="failure", onset_step=120, onset_time_ns=at(120))
    items = compose(dead, [failure(evidence=evidence)], [], NOW)
    assert [(i.rank, i.role) for i in items if i.source == "log"] == [
        (6, Role.INITIATING),
        (1, Role.CASCADE),
    ]


def test_a_node_event_counts_only_on_the_node_of_the_first_suspect():
    accused = incident(suspects=(Suspect(5, "gpu-b02", "x", 0.7),))
    happenings = [
        Happening(at(990), "node", "xid 79", node="gpu-b02"),
        Happening(at(1100), "node", "xid 45", node="gpu-b02"),
        Happening(at(990), "node", "drained", node="gpu-a01"),
    ]
    items = {i.text: i.role for i in compose(accused, [explosion()], happenings, NOW)}
    assert items["xid 79"] is Role.INITIATING
    assert items["xid 45"] is Role.CASCADE
    assert items["drained"] is Role.UNKNOWN


def test_the_end_of_an_episode_is_told():
    items = compose(incident(), [explosion(**ended())], [], NOW)
    assert _texts(items)[1] == "ended: explosion at 1001"


def test_the_same_thing_twice_is_told_once():
    twice = [Happening(at(900), "checkpoint", "checkpoint of step 900")] * 2
    assert len(compose(incident(), [explosion()], twice, NOW)) == 3


def test_now_is_never_before_the_last_event_of_a_replayed_run():
    items = compose(incident(), [explosion()], [], at(0) - 9 * SECOND)
    assert items[-1].mark is Mark.NOW
    assert items[-1].time_ns >= items[-2].time_ns


def test_what_a_process_says_while_it_ends_explains_nothing():
    said = (
        Evidence("ValueError: bad batch", time_ns=at(121), rank=6),
        Evidence("SystemExit: 1", time_ns=at(122), rank=3),
        Evidence("Exception ignored in: <Pool>", time_ns=at(123), rank=6),
    )
    items = compose(incident(onset_time_ns=at(120)), [failure(evidence=said)], [], NOW)
    roles = {item.text: item.role for item in items if item.source == "log"}
    assert [roles[e.text] for e in said] == [Role.INITIATING, Role.TEARDOWN, Role.TEARDOWN]


def test_a_relapse_says_in_which_attempt_and_starts_no_story_of_its_own():
    again = finding("again", step=1003, attempt=1)
    items = compose(incident(), [explosion(), again], [], NOW)
    (back,) = [item for item in items if item.text.startswith("in attempt 1: ")]
    assert (back.role, back.mark) == (Role.UNKNOWN, None)


def test_a_long_timeline_keeps_its_marks_and_what_has_a_role():
    events = [Happening(at(n), "node", f"event {n}", node="gpu-a01") for n in range(300)]
    items = compose(incident(), [explosion()], events, NOW)
    short = shortened(items, 10)
    assert len(short) == 10 and list(short) == [i for i in items if i in short]
    assert {i.mark for i in short} >= {Mark.ONSET, Mark.NOW}
    assert short[0].text == "event 0"
    assert shortened(items, 1_000) == items
