"""metrics.domain.whatif."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Finding, FindingSeverity
from apps.metrics.domain.whatif import NEAR_STEPS, compare, episodes


def finding(onset, closed=None, severity="page", kind="explosion", seen=None):
    return Finding(
        key=f"{kind}:{onset}", detector="d", kind=kind, severity=FindingSeverity(severity),
        attempt=0, onset_step=onset, onset_time_ns=onset * 10,
        seen_step=onset + 5 if seen is None else seen, seen_time_ns=0, title=f"{kind} at {onset}",
        closed_step=closed,
    )  # fmt: skip


def fired(*findings):
    return episodes(1, 0, findings)


def test_findings_that_overlap_are_one_episode_with_the_first_of_them_in_front():
    (one,) = fired(finding(120, 400), finding(100, 130, kind="precursor", seen=103))
    assert (one.onset_step, one.kind, one.seen_step, one.last_step) == (100, "precursor", 103, 400)


def test_an_episode_that_has_not_ended_takes_in_what_follows():
    assert len(fired(finding(100), finding(9_000, 9_010))) == 1
    assert fired(finding(100), finding(9_000, 9_010))[0].last_step is None


def test_only_what_pages_counts():
    assert fired(finding(100, severity="warn"), finding(200, severity="info")) == []


def test_what_both_page_is_the_same_also_where_the_onset_moved():
    (change,) = compare(fired(finding(100, 200)), fired(finding(110, 200, seen=140)))
    assert (change.how, change.later_steps) == ("same", 35)


def test_what_only_one_pages_is_lost_or_gained_newest_first():
    before = fired(finding(100, 120), finding(1_000, 1_100))
    after = fired(finding(1_003, 1_100), finding(5_000, 5_100))
    assert [(c.how, c.fired.onset_step) for c in compare(before, after)] == [
        ("gained", 5_000), ("same", 1_003), ("lost", 100),
    ]  # fmt: skip


def test_another_attempt_is_another_story():
    found = compare(fired(finding(100, 200)), episodes(1, 1, [finding(100, 200)]))
    assert Counter(change.how for change in found) == {"lost": 1, "gained": 1}


spans = st.lists(st.tuples(st.integers(0, 5_000), st.one_of(st.none(), st.integers(0, 300))))


def made(pairs):
    return fired(*(finding(a, None if n is None else a + n) for a, n in pairs))


@given(spans, spans)
def test_every_episode_is_told_exactly_once(first, second):
    before, after = made(first), made(second)
    found = compare(before, after)
    assert Counter(c.before for c in found if c.before) == Counter(before)
    assert Counter(c.after for c in found if c.after) == Counter(after)


@given(spans)
def test_the_same_thresholds_change_nothing(pairs):
    assert {c.how for c in compare(made(pairs), made(pairs))} <= {"same"}


@given(spans)
def test_episodes_of_an_attempt_never_overlap(pairs):
    found = made(pairs)
    ends = [one.last_step for one in found[:-1]]
    starts = [one.onset_step for one in found[1:]]
    assert all(end + NEAR_STEPS < start for end, start in zip(ends, starts, strict=True))
