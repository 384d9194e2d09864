"""incidents.domain.correlate.relapses, and which incident a relapse belongs to."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.incidents.domain.correlate import Case, correlate, over, relapses
from tests.incident_samples import (
    PAGE,
    WARN,
    ended,
    explosion,
    failure,
    finding,
    level_shift,
    rank_outlier,
)

DONE = explosion(**ended())


@pytest.mark.parametrize(
    "known,again,answer",
    [
        (DONE, finding("g", step=1030), True),
        (DONE, finding("g", "nonfinite", 1030), True),
        (DONE, finding("g", step=1003), False),
        (DONE, finding("g", step=1030, severity=WARN), False),
        (DONE, finding("g", "save_failed", 1030), False),
        (DONE, failure(), False),
        (explosion(), finding("g", step=1030), False),
        (explosion(), explosion(seen_step=1500), False),
        (explosion(), finding("g", step=1003, attempt=1), True),
        (explosion(attempt=1), finding("g", step=1003), False),
    ],
)
def test_it_pages_is_about_the_model_and_begins_anew(known, again, answer):
    assert relapses([known], again) is answer


@pytest.mark.parametrize(
    "step,state,ref",
    [
        (1003, {}, 7),
        (1003, {"mitigated": True}, 7),
        (1003, {"resolved": True}, 7),
        (1350, {"resolved": True}, -1),
        (1350, {"mitigated": True}, 7),
        (600, {"mitigated": True}, -1),
    ],
)
def test_the_same_steps_in_a_later_attempt_are_the_same_trouble(step, state, ref):
    case = Case(7, (explosion(),), **state)
    again = finding("g", step=step, attempt=1)
    assert correlate([case], [again]).cases[0].ref == ref


@pytest.mark.parametrize("before", [explosion(), failure()])
def test_a_job_that_dies_in_a_later_attempt_blames_its_own_hosts(before):
    again = replace(failure(), key="failure:1", attempt=1)
    assert correlate([Case(7, (before,))], [again]).cases[0].ref == -1


@pytest.mark.parametrize("recovered,ref", [(True, 7), (False, -1)])
def test_what_an_attempt_that_was_left_tells_late_joins_what_it_is_about(recovered, ref):
    case = Case(7, (level_shift(),), resolved=True, recovered=recovered)
    assert correlate([case], [rank_outlier()]).cases[0].ref == ref


def test_what_follows_a_relapse_is_seen_beside_the_findings_of_its_attempt():
    case = Case(7, (explosion(), finding("g", step=1003, attempt=1, **ended(step=1003))))
    later = finding("h", step=1900, attempt=1)
    assert correlate([case], [later]).cases[0].ref == -1


def test_an_abandoned_attempt_keeps_no_incident_from_ending():
    again = finding("g", step=1003, attempt=1, **ended(step=1003))
    assert over([explosion(), again])
    assert not over([explosion(**ended()), finding("g", step=1003, attempt=1)])


EPISODES = st.builds(
    lambda key, kind, step, severity, end: finding(
        key, kind, step, severity, **(ended(end, step) if end else {})
    ),
    st.uuids().map(str),
    st.sampled_from(["explosion", "save_failed", "no_contact", "layer_trend", "failure"]),
    st.integers(0, 3000),
    st.sampled_from([PAGE, WARN]),
    st.integers(0, 200),
)


@given(st.lists(EPISODES, max_size=8), st.randoms())
def test_no_finding_is_lost_or_moved_whatever_comes_in_which_batch(findings, random):
    cut = random.randint(0, len(findings))
    first = correlate([], findings[:cut])
    stored = [Case(n, case.findings) for n, case in enumerate(first.cases)]
    then = correlate(stored, findings[cut:])
    changed = {case.ref: case for case in then.cases}
    cases = [changed.get(case.ref, case) for case in stored]
    cases += [case for case in then.cases if case.ref < 0]
    held = sorted(f.key for case in cases for f in case.findings)
    assert held == sorted(f.key for f in findings)
    homes = {f.key: case.ref for case in cases for f in case.findings}
    assert all(homes[f.key] == case.ref for case in stored for f in case.findings)
    assert correlate(cases, findings).cases == ()
