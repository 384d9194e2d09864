"""alerts.domain.mail: subject, headers, words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.alerts.domain.body import body_of
from apps.alerts.domain.bundle import Bundle
from apps.alerts.domain.mail import (
    MailFacts,
    Reason,
    candidate_lines,
    clock,
    evidence_lines,
    headers,
    lead,
    rule_lines,
    subject,
    subject_of,
)
from apps.alerts.domain.message import Kind
from apps.core.records import Candidate, Evidence, Suspect
from apps.incidents.domain.incident import EarliestSignal, IncidentState
from tests import mail_samples
from tests.incident_samples import SECOND, at, finding, incident


def _facts(kind=Kind.OPENING, seq=0, over=False, **fields):
    values = {
        "incident": incident(),
        "run_key": "llm-300b",
        "recipient": "oncall@example.org",
        "site_url": "https://lastgood.example.org",
        "host": "lastgood.example.org",
        "now_ns": at(1003) + 5 * SECOND,
        "dated_ns": at(1003) + 5 * SECOND,
        **fields,
    }
    return MailFacts(kind=kind, seq=seq, over=over, **values)


def _resolved(**fields):
    return incident(
        state=IncidentState.RESOLVED,
        resolved_at_ns=at(1003) + 14 * 60 * SECOND,
        resolution="recovered",
        **fields,
    )


def test_the_subject_says_how_bad_where_what_and_which():
    assert subject_of(incident(), "llm-300b") == (
        "CRITICAL llm-300b: Loss 0.97 -> 3.65 since step 1,001 (INC-42)"
    )


def test_a_long_title_loses_its_end_and_never_the_incident():
    long = incident(title="Loss 1.12 -> 1.33 since step 701; rank 5 (gpu-b02) apart from all")
    line = subject_of(long, "sdc_rollback-of-the-whole-cluster")
    assert len(line) <= 78
    assert line.endswith("... (INC-42)")


@given(st.text(max_size=300), st.text(max_size=200))
def test_every_subject_is_one_short_line_of_ascii(title, key):
    line = subject_of(incident(title=title), key)
    assert len(line) <= 78
    assert line.isascii() and line.isprintable()


def test_accents_and_arrows_are_spelled():
    line = subject_of(incident(title="Verlust 1 → 2 für Rang 5"), "größe")
    assert line == "CRITICAL gro?e: Verlust 1 -> 2 fur Rang 5 (INC-42)"


@pytest.mark.parametrize("kind,seq", [(Kind.CLOSING, 0), (Kind.REMINDER, 1), (Kind.OPENING, 1)])
def test_later_messages_repeat_the_subject_of_the_first(kind, seq):
    facts = _facts(kind, seq, incident=incident(title="changed since"), subject="CRITICAL x: a")
    assert subject(facts) == "Re: CRITICAL x: a"


def test_all_messages_of_an_incident_hang_on_one_root():
    opening, closing = headers(_facts()), headers(_facts(Kind.CLOSING))
    assert opening["References"] == "<inc-42.run-3@lastgood.example.org>"
    assert opening["In-Reply-To"] == closing["In-Reply-To"] == closing["References"]


def test_a_message_sent_twice_has_one_id_and_different_messages_have_different_ones():
    ids = [
        headers(facts)["Message-ID"]
        for facts in (
            _facts(),
            _facts(now_ns=at(9999)),
            _facts(Kind.CLOSING),
            _facts(seq=1),
            _facts(recipient="lead@example.org"),
        )
    ]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4


def test_filters_and_auto_responders_find_their_headers():
    found = headers(_facts(project="My LLM"))
    assert found["List-Id"] == "<my-llm.alerts.lastgood.example.org>"
    assert found["Auto-Submitted"] == "auto-generated"
    assert (found["X-Run"], found["X-Incident"], found["X-Severity"]) == (
        "llm-300b",
        "INC-42",
        "critical",
    )


def test_the_first_line_of_the_end_says_how_long_it_took():
    line = lead(_facts(Kind.CLOSING, over=True, incident=_resolved()))
    assert line == "RESOLVED after 14 min: Loss 0.97 -> 3.65 since step 1,001"


def test_the_first_line_of_a_reminder_says_that_nobody_cares():
    line = lead(_facts(Kind.REMINDER, 1, now_ns=at(1003) + 3600 * SECOND))
    assert line.startswith("STILL OPEN after 1 h 00 min, nobody has acknowledged: Loss")


def test_an_end_that_is_not_certain_is_told_as_such():
    closing = incident(state=IncidentState.RESOLVED, resolved_at_ns=at(1004), resolution="closed")
    assert "back in its band" in lead(_facts(incident=closing))


def test_the_evidence_names_cause_signal_and_suspect():
    suspect = Suspect(5, "gpu-b02", "silent_data_corruption", 0.7, (Evidence("rank 5 at 2.8"),))
    signal = EarliestSignal(
        "grad_norm/layers.4", 998, at(998), "layer 4", None, 3, 3.0, words="layer 4, grad norm"
    )
    told = incident(suspects=(suspect,), earliest_signal=signal)
    rule = finding(facts={"rule": "3 of 5 rows over 5 sd"}, evidence=(Evidence("z is 41"),))
    lines = evidence_lines(_facts(incident=told, findings=(rule,)))
    assert lines == [
        "Cause: learning rate changed at the same step",
        "Earliest signal: layer 4, grad norm at step 998, 3 steps (3 s) before the onset",
        "Suspect: rank 5 on gpu-b02, silent data corruption, confidence 70%",
        "Evidence: rank 5 at 2.8",
        "Evidence: z is 41",
    ]


def test_the_rule_comes_with_its_numbers_and_how_often_it_fired():
    rule = finding(facts={"rule": "3 of 5 rows over 5 sd", "value": 3.65, "before": 0.97, "z": 41})
    assert rule_lines(_facts(findings=(rule,), fired=3)) == [
        "Rule: 3 of 5 rows over 5 sd",
        "Numbers: value 3.65, before 0.97, z 41",
        "Fired 3 times on this run in 7 days: explosion",
    ]
    assert rule_lines(_facts()) == []


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("", set()),
        ("http://here/leave/t/", {"List-Unsubscribe"}),
        ("https://here/leave/t/", {"List-Unsubscribe", "List-Unsubscribe-Post"}),
    ],
)
def test_one_click_is_offered_only_where_it_is_safe(url, names):
    found = headers(_facts(reason=Reason(leave_url=url)))
    assert {name for name in found if name.startswith("List-Unsub")} == names


def test_answers_go_to_people_where_somebody_said_to_whom():
    assert (
        headers(_facts(reason=Reason(reply_to="ops@example.org")))["Reply-To"] == "ops@example.org"
    )
    assert "Reply-To" not in headers(_facts())


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("", "2025-06-15 15:23:21 UTC"),
        ("Nowhere/There", "2025-06-15 15:23:21 UTC"),
        ("Europe/Berlin", "2025-06-15 15:23:21 UTC (17:23 Europe/Berlin)"),
        ("Asia/Tokyo", "2025-06-15 15:23:21 UTC (2025-06-16 00:23 Asia/Tokyo)"),
    ],
)
def test_times_are_told_in_utc_and_in_the_zone_of_the_reader(zone, text):
    assert clock(at(1001), zone) == text


def test_a_relapse_names_the_next_older_checkpoint_and_offers_no_newer_one():
    (part, _) = body_of(Bundle((mail_samples.relapse(),))).after
    assert part.lines[0] == "It came back: the next older candidate is step 750"
    assert [line.split(" (")[0] for line in part.lines[1:]] == ["step 750", "step 600", "step 450"]


def _candidate(step, eligible=True, hours=1.25):
    return Candidate(step, 0, f"/c/{step}", eligible, "headers_verified", (), 100, hours, 0, 1)


def test_only_checkpoints_one_may_go_back_to_are_offered_at_most_three():
    steps = [_candidate(1050, eligible=False), *(_candidate(s) for s in (900, 750, 600, 450))]
    lines = candidate_lines(tuple(steps))
    assert [line.split(" (")[0] for line in lines] == ["step 900", "step 750", "step 600"]
    assert lines[0].endswith("headers verified, 100 steps to redo, 1.25 GPU-hours")
