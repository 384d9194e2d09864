"""logs.domain.patterns"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.pattern.patterns import (
    MAX_BUCKETS,
    NS_MINUTE,
    OTHER_TEXT,
    Known,
    Since,
    good_hour,
    new_templates,
    news,
    patterns,
    score,
    spread_of,
    trouble_ns,
)
from apps.logs.domain.pattern.tally import NS_HOUR, Columns, tally
from apps.logs.domain.pattern.templates import OTHER

T0 = 498_885 * NS_HOUR
S = 1_000_000_000
ERROR, INFO = int(Severity.ERROR), int(Severity.INFO)


def counted(*lines):
    """lines: (template, rank, ns after T0, severity)"""
    rows = [(t, rank, T0 + at, level, n) for n, (t, rank, at, level) in enumerate(lines)]
    return tally(Columns(*np.array(rows, dtype=np.int64).T), "gpu-a01")[0]


def hour_before(onset=None, error=None, began=T0, last=T0 + 10 * NS_HOUR):
    return good_hour(began, last, onset_ns=onset, error_ns=error)


def known(**texts):
    return Known({int(name[1:]): (text, f"example of {text}") for name, text in texts.items()})


def test_the_good_hour_ends_ten_minutes_before_what_went_wrong():
    good = hour_before(onset=T0 + 5 * NS_HOUR)
    assert good.until_ns == T0 + 5 * NS_HOUR - 10 * NS_MINUTE
    assert (good.until_ns - good.from_ns, good.since, good.enough) == (NS_HOUR, "incident", True)


def test_an_error_before_the_onset_ends_it_earlier():
    good = hour_before(onset=T0 + 5 * NS_HOUR, error=T0 + 4 * NS_HOUR)
    assert (good.since, good.until_ns) == (Since.ERROR, T0 + 4 * NS_HOUR - 10 * NS_MINUTE)


def test_while_nothing_is_wrong_the_newest_hour_is_compared_with_the_one_before():
    good = hour_before()
    assert (good.since, good.until_ns, good.enough) == (Since.NOW, T0 + 9 * NS_HOUR, True)


def test_an_attempt_that_failed_at_its_start_has_no_good_hour():
    good = hour_before(error=T0 + 12 * NS_MINUTE)
    assert not good.enough
    assert good.from_ns == T0


LATE = counted((1, 0, 0, INFO), (2, 0, 2 * NS_HOUR, INFO), (3, 0, 2 * NS_HOUR, ERROR))


def test_new_is_what_was_first_said_after_it():
    good = hour_before(error=T0 + 2 * NS_HOUR)
    assert new_templates(LATE, Known({}), good) == {2, 3}


@pytest.mark.parametrize("elsewhere", [{"ordinary": {2}}, {"earlier": {2}}])
def test_what_good_runs_or_earlier_attempts_say_is_not_new(elsewhere):
    good = hour_before(error=T0 + 2 * NS_HOUR)
    assert new_templates(LATE, Known({}, **elsewhere), good) == {3}


def test_without_anything_to_compare_with_nothing_is_new():
    good = hour_before(error=T0)
    assert new_templates(LATE, Known({}), good) == set()
    assert new_templates(LATE, Known({}, earlier={9}), good) == {1, 2, 3}


def test_what_is_not_told_apart_is_never_new():
    late = counted((OTHER, 0, 2 * NS_HOUR, ERROR))
    assert new_templates(late, Known({}), hour_before(error=T0 + 2 * NS_HOUR)) == set()
    assert trouble_ns(late, ()) is None


def test_trouble_begins_with_the_first_error_that_good_runs_do_not_say():
    lines = counted((1, 0, 5 * S, ERROR), (2, 0, 9 * S, ERROR), (3, 0, 0, INFO))
    assert trouble_ns(lines, ()) == T0 + 5 * S
    assert trouble_ns(lines, {1}) == T0 + 9 * S
    assert trouble_ns(lines, {1, 2}) is None


def test_errors_that_the_run_went_on_after_are_no_trouble_now():
    early, late = (1, 0, 0, ERROR), (2, 0, 5 * NS_HOUR, ERROR)
    again = (1, 0, 5 * NS_HOUR + S, ERROR)
    assert trouble_ns(counted(early, late, again), ()) == T0 + 5 * NS_HOUR
    assert trouble_ns(counted(early, late, (3, 0, 6 * NS_HOUR, INFO)), ()) == T0 + 5 * NS_HOUR
    assert trouble_ns(counted(early, late, (3, 0, 6 * NS_HOUR + 1, INFO)), ()) is None


def test_errors_of_one_trouble_lie_at_most_half_an_hour_apart():
    times = [(template, 0, 29 * template * NS_MINUTE, ERROR) for template in range(1, 5)]
    assert trouble_ns(counted(*times), ()) == T0 + 29 * NS_MINUTE
    assert trouble_ns(counted(*times, (9, 0, 150 * NS_MINUTE, ERROR)), ()) == T0 + 150 * NS_MINUTE


def test_a_pattern_says_who_said_it_first_and_how_long_alone():
    lines = counted((1, 3, 0, ERROR), (1, 3, S, ERROR), (1, 7, 2 * S, ERROR), (1, -1, 3 * S, INFO))
    (one,) = patterns(lines, known(t1="lost <num>"), (), 8)
    assert (one.text, one.example) == ("lost <num>", "example of lost <num>")
    assert (one.first_rank, one.node, one.lead_ns) == (3, "gpu-a01", 2 * S)
    assert (one.lines, one.unranked, one.ranks) == (4, 1, 1 << 3 | 1 << 7)


def test_names_are_merged_but_not_across_levels_nor_with_what_is_new():
    lines = counted(
        (1, 0, 0, ERROR), (2, 1, 1, ERROR), (3, 2, 2, INFO), (4, 3, 3, ERROR), (OTHER, 0, 4, ERROR)
    )
    names = known(t1="op all_reduce is late", t2="op all_gather is late", t3="op a_b is late",
                  t4="op c_d is late")  # fmt: skip
    found = patterns(lines, names, {4}, 8)
    assert {(one.templates, one.text, one.new) for one in found} == {
        ((1, 2), "op <*> is late", False),
        ((3,), "op a_b is late", False),
        ((4,), "op c_d is late", True),
        ((OTHER,), OTHER_TEXT, False),
    }
    assert [one.templates for one in news(found)] == [(4,)]


def test_a_pattern_is_ordinary_if_good_runs_say_all_of_it():
    names = known(t1="op all_reduce is late", t2="op all_gather is late")
    lines = counted((1, 0, 0, ERROR), (2, 1, 1, ERROR))
    marks = []
    for ordinary in ((), {1}, {1, 2}):
        (one,) = patterns(lines, Known(names.texts, ordinary), (), 8)
        marks.append((one.ordinary, one.score > 0))
    assert marks == [(False, True), (False, True), (True, False)]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 200)), min_size=1, max_size=30))
def test_every_line_is_in_one_bucket_of_its_pattern(lines):
    one = counted(*((template, 0, hour * NS_HOUR, INFO) for template, hour in lines))
    spread = spread_of(one)
    found = patterns(one, Known({}), (), 1)
    assert spread.buckets <= MAX_BUCKETS
    assert sum(pattern.lines for pattern in found) == len(lines)
    assert all(sum(p.spark) == p.lines and len(p.spark) == spread.buckets for p in found)


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 64), st.integers(1, 64))
def test_the_worse_the_rarer_and_the_fewer_ranks_the_more_it_is_worth_a_look(a, b, few, many):
    low, high = sorted((a, b))
    some, most = sorted((few, many))
    assert score(low, ERROR, 1, 64) >= score(high, ERROR, 1, 64)
    assert score(low, ERROR, some, 64) >= score(low, ERROR, most, 64)
    assert score(low, ERROR, some, 64) > score(low, INFO, some, 64)


@pytest.mark.parametrize("text", ['  File "<path>/a.py", line <num>, in step', "====", "    ^^^^"])
def test_a_frame_of_a_traceback_is_worth_less_than_its_error(text):
    lines = counted((1, 0, 0, ERROR), (2, 0, 1, ERROR))
    texts = known(t1=text, t2="RuntimeError: no")
    assert [one.templates for one in news(patterns(lines, texts, {1, 2}, 8))] == [(2,), (1,)]
