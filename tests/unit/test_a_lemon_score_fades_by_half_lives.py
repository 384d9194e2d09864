"""nodes.domain.lemon: how often a host was to blame lately."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.nodes.domain.lemon import DAY_NS, NEVER, Blame, LemonPolicy, Record, log2_score, score_at

T0 = 1_796_000_000_000_000_000


def blame(attempt=0, age_d=0.0, weight=1.0, run=1):
    return Blame(run, attempt, T0 - round(age_d * DAY_NS), weight)


def score(blames, now=T0, **policy):
    return score_at(log2_score(blames, LemonPolicy(**policy)), now, LemonPolicy(**policy))


def test_a_blame_of_today_counts_its_weight():
    assert score([blame(weight=0.7)]) == pytest.approx(0.7)


def test_after_a_half_life_it_counts_half():
    assert score([blame(age_d=14)]) == pytest.approx(0.5)
    assert score([blame(age_d=3)], half_life_d=3) == pytest.approx(0.5)


def test_an_attempt_counts_once():
    twice = [blame(attempt=3, weight=0.4), blame(attempt=3, weight=0.9)]
    assert score(twice) == pytest.approx(0.9)
    assert score([*twice, blame(attempt=3, run=2, weight=0.5)]) == pytest.approx(1.4)


def test_a_host_that_nothing_blames_has_no_score():
    assert log2_score([]) == NEVER
    assert log2_score([blame(weight=0.0)]) == NEVER
    assert score_at(NEVER, T0) == 0.0


blames = st.lists(
    st.builds(
        blame,
        attempt=st.integers(0, 5),
        age_d=st.floats(0, 400),
        weight=st.floats(0.001, 1),
        run=st.integers(1, 3),
    ),
    min_size=1,
    max_size=20,
)


@given(blames)
def test_it_is_the_sum_of_the_formula(found):
    best = {}
    for one in found:
        counts = one.weight * 2 ** (-(T0 - one.at_ns) / DAY_NS / 14)
        key = (one.run_id, one.attempt)
        best[key] = max(best.get(key, 0), counts)
    assert score(found) == pytest.approx(math.fsum(best.values()), rel=1e-6)


@given(blames, st.floats(0, 100))
def test_time_alone_halves_every_score_alike(found, days):
    later = T0 + round(days * DAY_NS)
    assert score(found, later) == pytest.approx(score(found) * 2 ** (-days / 14), rel=1e-6)


@given(blames, blames, st.floats(0, 100))
def test_time_alone_never_changes_the_order_of_two_hosts(one, other, days):
    first, second = log2_score(one), log2_score(other)
    later = T0 + round(days * DAY_NS)
    assert (score_at(first, later) >= score_at(second, later)) or first < second


@given(blames, blames)
def test_one_blame_more_never_lowers_it(found, more):
    assert log2_score([*found, *more]) >= log2_score(found) - 1e-9


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Record(3, 2, 11, 4), "blamed in 3 of 11 attempts (2 of 4 runs) in 30 d"),
        (Record(1, 1, 1, 1), "blamed in 1 of 1 attempt (1 of 1 run) in 30 d"),
        (Record(0, 0, 7, 2), "not blamed in 7 attempts in 30 d"),
        (Record(), "took part in no attempt in 30 d"),
        (Record(2, 1, 0, 0), "blamed in 2 of 2 attempts (1 of 1 run) in 30 d"),
    ],
)
def test_it_says_why_in_words(record, words):
    assert record.words == words
