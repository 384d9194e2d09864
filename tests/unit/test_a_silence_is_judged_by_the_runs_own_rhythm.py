"""runs.domain.contact: what is usual for a run, and when its silence is news."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.runs.domain.contact import (
    DEFAULT_POLICY,
    Look,
    Rhythm,
    WatchClock,
    given_up,
    is_silent,
    learn,
    missed,
    silence,
)

T0 = 1_800_000_000_000_000_000
S = 1_000_000_000
LOOK_S = 15
gaps = st.lists(st.floats(0.5, 900), min_size=1, max_size=80)


def at(seconds):
    return T0 + int(seconds * S)


def heard(contacts, *, step_s=0.0, rhythm=None):
    """What is learned from contacts at these seconds, looked at every 15 s. step_s: per step."""
    rhythm, count, start = rhythm or Rhythm(), 0, contacts[0]
    for now in range(int(start), int(contacts[-1]) + 2 * LOOK_S, LOOK_S):
        seen = [c for c in contacts if c <= now]
        if len(seen) > count:
            count = len(seen)
            step = int(seen[-1] / step_s) if step_s else None
            look = Look(at(seen[-1]), count, step, at(seen[-1]))
            rhythm = learn(rhythm, look, WatchClock(at(now)))
    return rhythm


def test_a_run_that_talks_every_two_seconds_is_missed_after_five_minutes():
    known = silence(heard(range(0, 600, 2)))
    assert known.limit_s == DEFAULT_POLICY.floor_s
    assert known.usual_s == pytest.approx(2, abs=0.1)


def test_a_run_that_logs_every_ten_minutes_is_given_four_gaps():
    known = silence(heard(range(0, 12 * 600, 600)))
    assert known.limit_s == pytest.approx(2_400, rel=0.05)


def test_nothing_is_usual_before_ten_looks_brought_news_and_before_the_first_row():
    assert silence(heard(range(0, 60, 2))).limit_s == DEFAULT_POLICY.unlearned_s
    talks = heard(range(0, 600, 2))
    assert silence(talks, started=False).limit_s == DEFAULT_POLICY.unlearned_s


def test_the_first_evaluation_teaches_how_long_one_takes():
    talks = [*range(0, 600, 2), *range(1_400, 2_000, 2)]
    assert silence(heard(talks)).limit_s == pytest.approx(1.5 * 802, abs=30)


def test_one_long_outage_is_no_habit_but_two_long_pauses_are():
    once = [*range(0, 600, 2), *range(6_000, 6_600, 2)]
    assert silence(heard(once)).limit_s == DEFAULT_POLICY.floor_s
    twice = [*once, *range(12_000, 12_600, 2)]
    assert silence(heard(twice)).limit_s == pytest.approx(1.5 * 5_402, abs=60)


def test_a_silence_in_which_the_job_trained_on_is_no_pause():
    """Steps went on: the way to us was cut, and the agent sent what it had kept."""
    before = heard(range(0, 600, 2), step_s=2)
    back = Look(at(1_400), 301, 700, at(1_399))
    assert learn(before, back, WatchClock(at(1_405))).pauses == ()


def test_what_is_sent_from_within_the_silence_shows_that_the_job_was_alive():
    before = heard(range(0, 600, 2))
    back = Look(at(1_400), 301, None, at(700))
    assert learn(before, back, WatchClock(at(1_405))).pauses == ()


def test_a_silence_that_reaches_into_our_own_outage_teaches_nothing():
    before = heard(range(0, 600, 2))
    back = Look(at(1_400), 301, None, at(1_399))
    after = learn(before, back, WatchClock(at(1_405), resumed_ns=at(1_390)))
    assert (after.pauses, after.gaps, after.heard_ns) == ((), before.gaps, at(1_400))


def test_our_own_outage_and_what_is_not_written_yet_are_no_silence():
    look = Look(at(0), 9, 5, at(0))
    assert is_silent(look, 300, WatchClock(at(301)))
    assert not is_silent(look, 300, WatchClock(at(301), resumed_ns=at(100)))
    assert not is_silent(look, 300, WatchClock(at(299)))


@pytest.mark.parametrize(
    "look",
    [Look(at(0), 9, 5, at(0), ended=True), Look(at(0), 9, 5, at(-4_000))],
    ids=["it is known how it ended", "somebody sends an old run"],
)
def test_some_silences_are_no_news(look):
    assert not is_silent(look, 300, WatchClock(at(90_000)))


def test_after_a_week_nobody_looks_any_more():
    look, week = Look(at(0), 9, 5, at(0)), DEFAULT_POLICY.give_up_s
    assert not given_up(look, WatchClock(at(week - 1)))
    assert given_up(look, WatchClock(at(week + 1)))


def test_four_looks_may_be_late():
    assert not missed(at(60), at(0))
    assert missed(at(61), at(0))
    assert missed(at(0), None)


@given(gaps, st.booleans())
def test_the_limit_is_bounded_and_above_what_is_usual(lengths, started):
    contacts = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    known = silence(heard(contacts), started=started)
    assert DEFAULT_POLICY.floor_s <= known.limit_s <= DEFAULT_POLICY.ceiling_s
    assert known.usual_s is None or known.limit_s >= min(known.usual_s, DEFAULT_POLICY.ceiling_s)


@given(gaps)
def test_what_is_kept_is_bounded_and_a_look_without_news_changes_nothing(lengths):
    contacts = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    rhythm = heard(contacts)
    assert len(rhythm.gaps) <= DEFAULT_POLICY.kept_gaps
    assert len(rhythm.pauses) <= DEFAULT_POLICY.kept_pauses
    same = Look(rhythm.heard_ns, rhythm.contacts)
    assert learn(rhythm, same, WatchClock(at(10**6))) is rhythm


@given(st.floats(0, 10**6), st.floats(0, 10**6), st.floats(300, 14_400))
def test_a_silence_that_goes_on_stays_one(first, more, limit_s):
    look = Look(at(0), 9, 5, at(0))
    if is_silent(look, limit_s, WatchClock(at(first))):
        assert is_silent(look, limit_s, WatchClock(at(first + more)))
