"""incidents.domain.script_alert: what a training script says is neither doubled nor mixed in."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.incidents.domain.correlate import Case, correlate
from apps.incidents.domain.script_alert import ScriptAlert, ScriptAlertPolicy, as_finding
from apps.incidents.domain.summary import summarise
from tests.incident_samples import INFO, PAGE, SECOND, WARN, at, explosion, failure

MINUTE = 60 * SECOND
ALERT = ScriptAlert("loss is odd", "look at it", PAGE, MINUTE, at(1000), 1000)


def said(alert=ALERT, attempt=0, earlier=()):
    return as_finding(alert, attempt, earlier)


def later(ns, **changes):
    return replace(ALERT, at_ns=ALERT.at_ns + ns, **changes)


def test_an_error_pages_and_lasts_a_warning_is_over_at_once():
    loud, quiet = said(), said(replace(ALERT, severity=WARN))
    assert (loud.page, loud.closed_time_ns) == (True, None)
    assert (quiet.page, quiet.closed_time_ns) == (False, ALERT.at_ns)


def test_the_words_of_the_script_are_kept():
    found = said(replace(ALERT, text="line one\n line two"))
    assert found.title == "Script alert: loss is odd"
    assert [e.text for e in found.evidence] == ["line one line two"]
    assert found.facts["text"] == "line one\n line two"


@pytest.mark.parametrize(("ns", "wait_ns", "text", "new"), [
    (MINUTE - 1, MINUTE, "other", False),
    (MINUTE, MINUTE, "other", True),
    (MINUTE - 1, 0, "look at it", False),
    (1, 0, "other", True),
])  # fmt: skip
def test_a_repeat_within_its_wait_is_the_same_finding(ns, wait_ns, text, new):
    found = said(later(ns, wait_ns=wait_ns, text=text), earlier=[said()])
    assert (found.key != said().key, found.facts["times"]) == (new, 1 if new else 2)


def test_a_louder_alert_is_never_taken_for_a_repeat():
    found = said(later(1), earlier=[said(replace(ALERT, severity=WARN))])
    assert (found.page, found.facts["times"]) == (True, 1)


def test_the_same_words_in_another_attempt_are_news():
    assert said(later(1), attempt=1, earlier=[said()]).attempt == 1


def test_a_copy_repeats_nothing_that_is_known():
    copy = later(9 * MINUTE, copied=True)
    assert said(copy, attempt=3, earlier=[said()]) == said()
    assert said(replace(copy, text="unheard"), earlier=[said()]).title == said().title


def test_a_script_that_alerts_at_every_step_becomes_quiet_and_is_bounded():
    policy, found = ScriptAlertPolicy(loud=2, kept=3), []
    for n in range(5):
        alert = later(n * MINUTE, title=f"odd at {n}", wait_ns=0)
        found += [f for f in [as_finding(alert, 0, found, policy)] if f]
    assert [f.severity for f in found] == [PAGE, PAGE, INFO]


def case(*findings, **state):
    return Case(ref=7, findings=findings, **state)


@pytest.mark.parametrize("other", [explosion(), failure()])
def test_what_a_detector_sees_never_joins_an_alert_nor_the_other_way_round(other):
    assert [c.ref for c in correlate([case(said())], [other]).cases] == [-1]
    assert [c.ref for c in correlate([case(other)], [said()]).cases] == [-1]


def test_an_alert_for_information_stays_beside_an_open_incident():
    quiet = said(replace(ALERT, severity=INFO))
    assert correlate([case(explosion())], [quiet]).loose == (quiet,)


def test_titles_that_differ_in_a_number_are_one_incident():
    first, again = (said(later(n * MINUTE, title=f"odd at {n}")) for n in (1, 2))
    assert [c.ref for c in correlate([case(first)], [again]).cases] == [7]


@pytest.mark.parametrize(("reopenable", "ref"), [(True, 7), (False, -1)])
def test_what_a_person_has_ended_is_not_opened_again(reopenable, ref):
    ended = case(said(), resolved=True, reopenable=reopenable)
    assert [c.ref for c in correlate([ended], [said(later(MINUTE))]).cases] == [ref]


def test_the_cause_says_who_said_it():
    (guess,) = summarise([said()]).hypotheses
    assert (guess.cause, guess.evidence[0].text) == ("reported", "look at it")


@given(st.lists(st.tuples(st.integers(0, 500), st.sampled_from("ab"), st.sampled_from([0, 60]))))
def test_every_alert_is_counted_exactly_once(moments):
    found = {}
    for seconds, title, wait_s in sorted(moments):
        alert = later(seconds * SECOND, title=title, wait_ns=wait_s * SECOND)
        finding = said(alert, earlier=list(found.values()))
        found[finding.key] = finding
    assert sum(f.facts["times"] for f in found.values()) == len(moments)
