"""incidents.domain.correlate: which finding joins which incident."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.incidents.domain.correlate import Case, correlate, over
from tests.incident_samples import (
    INFO,
    PAGE,
    WARN,
    at,
    ended,
    explosion,
    failure,
    finding,
    level_shift,
    rank_outlier,
)


def _case(*findings, **state):
    return Case(ref=7, findings=findings, **state)


def test_a_first_finding_opens_an_incident():
    result = correlate([], [explosion()])
    assert [c.findings for c in result.cases] == [(explosion(),)]
    assert result.cases[0].ref < 0


def test_a_level_shift_and_a_rank_apart_are_one_incident():
    result = correlate([], [rank_outlier(), level_shift()])
    assert len(result.cases) == 1


@pytest.mark.parametrize("first,second", [("shift", "rank"), ("rank", "shift")])
def test_the_order_of_arrival_does_not_matter(first, second):
    both = {"shift": level_shift(), "rank": rank_outlier()}
    result = correlate([_case(both[first])], [both[second]])
    assert [c.ref for c in result.cases] == [7]
    assert {f.key for f in result.cases[0].findings} == {f.key for f in both.values()}


def test_the_same_finding_again_changes_nothing():
    assert correlate([_case(explosion())], [explosion()]).cases == ()


def test_a_newer_state_replaces_the_older_one_in_its_incident():
    newer = explosion(closed_step=1100, closed_time_ns=at(1100))
    result = correlate([_case(explosion())], [newer])
    assert result.cases == (Case(7, (newer,)),)


def test_a_quiet_outlier_alone_stays_a_finding():
    lone = finding("o", "outlier", 350, INFO)
    result = correlate([], [lone])
    assert (result.cases, result.loose) == ((), (lone,))


def test_a_quiet_outlier_beside_an_incident_joins_it():
    assert correlate([_case(explosion())], [finding("o", "outlier", 1010, INFO)]).cases


def test_a_quiet_outlier_far_behind_an_open_incident_stays_a_finding():
    assert correlate([_case(explosion())], [finding("o", "outlier", 9000, INFO)]).loose


def test_a_warning_opens_an_incident():
    assert correlate([], [finding("w", "outlier", 350, WARN, **ended(9, 350))]).cases


def test_an_unfinished_page_takes_in_what_follows():
    later = finding("slow", "slow_divergence", 1900)
    assert correlate([_case(explosion())], [later]).cases[0].ref == 7


def test_an_unfinished_warning_does_not_date_a_later_explosion():
    warning = _case(finding("p", "precursor", 100, WARN))
    assert correlate([warning], [explosion()]).cases[0].ref < 0


def test_a_precursor_a_little_earlier_belongs_to_the_explosion():
    warning = _case(finding("p", "precursor", 800, WARN))
    assert correlate([warning], [explosion()]).cases[0].ref == 7


def test_a_finished_incident_and_a_far_finding_are_two():
    done = _case(finding(step=350, **ended(10, 350)))
    assert correlate([done], [finding("g", step=900)]).cases[0].ref < 0


@pytest.mark.parametrize("step,ref", [(1004, 7), (1200, -1)])
def test_a_crash_belongs_to_an_explosion_only_close_to_it(step, ref):
    crash = replace(failure(), onset_step=step, onset_time_ns=at(step))
    assert correlate([_case(explosion())], [crash]).cases[0].ref == ref


def test_findings_without_steps_are_compared_by_time():
    early = replace(failure(), onset_step=None)
    late = replace(failure(), key="failure:1", onset_time_ns=early.onset_time_ns + 10**12)
    assert len(correlate([_case(early)], [late]).cases) == 1


@pytest.mark.parametrize(
    "reopenable,step,severity,ref",
    [
        (True, 1030, WARN, 7),
        (True, 1100, PAGE, -1),
        (False, 1030, WARN, -1),
        (False, 1030, PAGE, 7),
    ],
)
def test_a_resolved_incident_takes_back_only_its_own_episode(reopenable, step, severity, ref):
    done = _case(explosion(**ended()), resolved=True, reopenable=reopenable)
    assert correlate([done], [finding("again", step=step, severity=severity)]).cases[0].ref == ref


@pytest.mark.parametrize(
    "kinds",
    [
        ("explosion", "layer_trend", "missing_loss", "loss_scale_collapse", "eval_regression"),
        ("throughput_drop", "straggler"),
        ("save_late", "save_failed", "save_slow", "storage_full", "checkpoints_few"),
    ],
)
def test_what_one_trouble_causes_is_one_incident(kinds):
    told = [finding(kind, kind, 1000 + n) for n, kind in enumerate(kinds)]
    assert len(correlate([], told).cases) == 1


def test_each_family_of_trouble_has_incidents_of_its_own():
    kinds = ["explosion", "throughput_drop", "save_failed", "no_contact"]
    result = correlate([], [finding(kind, kind) for kind in kinds])
    assert len(result.cases) == len(kinds)


def test_over_means_that_everything_louder_than_info_has_ended():
    quiet = finding("o", "outlier", 3, INFO)
    assert over([explosion(**ended()), quiet])
    assert not over([explosion(**ended()), finding("g")])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5000), st.sampled_from([PAGE, WARN, INFO]), st.sampled_from("abcd")
        ),
        max_size=12,
        unique_by=lambda row: row[0],
    ),
    st.randoms(),
)
def test_every_finding_lands_exactly_once_whatever_the_order(rows, random):
    findings = [finding(f"{name}{step}", "explosion", step, sev) for step, sev, name in rows]
    mixed = random.sample(findings, len(findings))
    one, other = correlate([], findings), correlate([], mixed)
    assert one == other
    held = [f.key for c in one.cases for f in c.findings] + [f.key for f in one.loose]
    assert sorted(held) == sorted(f.key for f in findings)
    again = correlate(one.cases, mixed)
    assert again.cases == ()
