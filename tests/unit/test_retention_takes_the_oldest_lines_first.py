"""apps.logs.domain.chunk.retention"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.chunk.retention import ACTIVE_NS, DAY_NS, HeldLogs, KeepRule, plan

NOW = 1_000 * DAY_NS
GB = 10**9


def held(run_id, attempt=0, **changes):
    """A finished attempt of 1 GB that ended 100 days ago; another one came behind."""
    values = {
        "made_ns": NOW - 300 * DAY_NS,
        "heard_ns": NOW - 100 * DAY_NS,
        "last": False,
        "last_ns": NOW - 100 * DAY_NS,
        "lines": 1_000,
        "size_bytes": GB,
    } | changes
    return HeldLogs(run_id, attempt, **values)


def old(run_id, attempt=0, **changes):
    return held(run_id, attempt, **{"old_lines": 600, "old_bytes": GB // 2} | changes)


def cuts(found):
    return [(cut.run_id, cut.attempt, cut.size_bytes) for cut in found.cuts]


def test_without_a_rule_nothing_goes():
    assert plan([old(1)], KeepRule(), NOW).cuts == ()


def test_old_lines_go_and_newer_ones_of_the_same_attempt_stay():
    (cut,) = plan([old(1), held(2)], KeepRule(days=90), NOW).cuts
    assert (cut.run_id, cut.lines, cut.size_bytes) == (1, 600, GB // 2)
    assert (cut.before_ns, cut.free_bytes) == (NOW - 90 * DAY_NS, None)
    assert cut.why == "older than 90 days"


@pytest.mark.parametrize("why", ["open incident", "pinned"])
def test_what_somebody_still_needs_stays_and_is_named(why):
    found = plan([old(1, kept=why), old(2)], KeepRule(days=90, most_bytes=1), NOW)
    assert {cut.run_id for cut in found.cuts} == {2}
    assert [(one.run_id, one.why) for one in found.spared] == [(1, why)]
    assert found.over_bytes == GB - 1


def test_the_attempt_that_is_being_written_stays():
    live = old(1, last=True, heard_ns=NOW - ACTIVE_NS + 1)
    assert [one.why for one in plan([live], KeepRule(days=90), NOW).spared] == [
        "the run still writes it"
    ]
    silent = old(1, last=True, heard_ns=NOW - ACTIVE_NS)
    assert cuts(plan([silent], KeepRule(days=90), NOW)) == [(1, 0, GB // 2)]


def test_an_old_log_that_was_loaded_yesterday_ages_from_then_on():
    loaded = old(1, made_ns=NOW - DAY_NS)
    assert plan([loaded], KeepRule(days=90), NOW).cuts == ()
    assert plan([loaded], KeepRule(days=90), NOW + 89 * DAY_NS).cuts != ()


def test_over_its_size_a_project_loses_the_oldest_attempts_and_last_ones_last():
    ages = [
        held(1, last_ns=NOW - 9),
        held(2, last_ns=NOW - 7),
        held(3, last=True, last_ns=NOW - 50),
    ]
    found = plan(ages, KeepRule(most_bytes=GB + GB // 2), NOW)
    assert cuts(found) == [(1, 0, GB), (2, 0, GB // 2)]
    assert found.cuts[1].free_bytes == GB // 2
    assert found.cuts[1].lines == 500
    assert (found.size_bytes, found.lines, found.runs) == (GB + GB // 2, 1_500, 2)


def test_what_goes_by_age_counts_for_the_size():
    found = plan([old(1), held(2)], KeepRule(days=90, most_bytes=GB + GB // 2), NOW)
    assert cuts(found) == [(1, 0, GB // 2)]


SIZES = st.integers(1, 100)
HELD = st.builds(
    lambda number, size, share, last, age, kept: held(
        number,
        size_bytes=size,
        old_bytes=size * share // 4,
        old_lines=share,
        last=last,
        last_ns=NOW - age,
        kept=kept,
    ),
    st.integers(1, 10**6),
    SIZES,
    st.integers(0, 4),
    st.booleans(),
    st.integers(0, 10**6),
    st.sampled_from(["", "", "pinned"]),
)


@given(
    st.lists(HELD, max_size=12, unique_by=lambda one: one.run_id),
    st.none() | st.integers(1, 400),
    st.none() | st.just(90),
)
def test_never_more_than_is_needed_and_never_what_is_kept(attempts, most, days):
    found = plan(attempts, KeepRule(days, most), NOW)
    taken = {}
    for cut in found.cuts:
        taken[cut.run_id] = taken.get(cut.run_id, 0) + cut.size_bytes
    sizes = {one.run_id: one.size_bytes for one in attempts}
    assert all(0 < size <= sizes[run] for run, size in taken.items())
    assert not taken.keys() & {one.run_id for one in attempts if one.kept}
    by_size = sum(cut.size_bytes for cut in found.cuts if cut.free_bytes is not None)
    left = sum(sizes.values()) - sum(taken.values())
    if most is not None:
        assert left == most + found.over_bytes or by_size == 0
        assert left <= most + found.over_bytes
