"""metrics.domain.rank_outlier while hosts send at their own pace."""

import numpy as np
import pytest

from apps.metrics.domain.rank_outlier import RankState
from tests.metric_samples import judged_ranks, of_ranks, points_of_ranks, rank_table

APART = {(at, 5): 5.0 for at in (12, 13, 14)}


@pytest.mark.parametrize(("arrived", "keys"), [(7, []), (8, ["rank:a0:r5:s120"])])
def test_less_than_half_of_the_known_ranks_judge_nobody(arrived, keys):
    points = of_ranks(points_of_ranks(rank_table(ranks=16, changes=APART)), range(arrived))
    assert [f.key for f in judged_ranks(points, known_ranks=16)] == keys


def test_the_evidence_is_told_anew_when_more_ranks_have_come():
    whole, state = points_of_ranks(rank_table(changes=APART)), RankState()
    half = of_ranks(whole, range(4, 8))

    (first,) = judged_ranks(half, state=state, known_ranks=8)
    (second,) = judged_ranks(whole, state=state, known_ranks=8)

    assert "the other 3 ranks that have come so far (of 7)" in first.evidence[0].text
    assert "the other 7 ranks have the median" in second.evidence[0].text
    assert (first.key, first.severity, first.onset_step) == (
        second.key,
        second.severity,
        second.onset_step,
    )
    assert judged_ranks(whole, state=state, known_ranks=8) == []


def test_steps_too_few_have_logged_are_not_normal_ones():
    values = points_of_ranks(rank_table(changes=APART))
    state = RankState()
    judged_ranks(of_ranks(values, range(3)), state=state, known_ranks=8)
    late = points_of_ranks(rank_table(changes=APART)[12:], first_step=120)

    (found,) = judged_ranks(late, state=state, known_ranks=8)

    assert (found.severity, found.facts["last_normal_step"]) == ("warn", None)


def test_a_warning_becomes_a_page_when_the_normal_steps_before_it_are_complete():
    whole, state = points_of_ranks(rank_table(changes=APART)), RankState()
    judged_ranks(of_ranks(whole, range(3)), state=state, known_ranks=8)
    judged_ranks(points_of_ranks(rank_table(changes=APART)[12:], first_step=120), state=state)

    (found,) = judged_ranks(whole, state=state, known_ranks=8)

    assert (found.key, found.severity) == ("rank:a0:r5:s120", "page")
    assert found.facts["last_normal_step"] == 110


def test_what_the_rest_of_the_ranks_disproves_is_taken_back():
    values = rank_table(changes={(at, rank): 5.0 for at in (12, 13) for rank in (0, 1, 2, 3, 5)})
    whole, state = points_of_ranks(values), RankState()

    (told,) = judged_ranks(of_ranks(whole, range(4, 8)), state=state, known_ranks=8)
    (back,) = judged_ranks(whole, state=state, known_ranks=8)

    assert (told.key, told.rank, told.page) == (back.key, 5, True)
    assert (back.severity, back.suspects, back.closed_step) == ("info", (), 190)
    assert "does not stand apart from the 8 ranks" in back.title
    assert judged_ranks(whole, state=state, known_ranks=8) == []


def test_a_step_that_comes_late_moves_the_onset_and_keeps_the_key():
    whole, state = points_of_ranks(rank_table(changes=APART)), RankState()
    without = np.flatnonzero(whole.step != 120)
    early = type(whole)(*(getattr(whole, n)[without] for n in ("step", "time_ns", "value", "rank")))

    (first,) = judged_ranks(early, state=state)
    (second,) = judged_ranks(whole, state=state)

    assert (first.key, first.onset_step) == ("rank:a0:r5:s130", 130)
    assert (second.key, second.onset_step) == ("rank:a0:r5:s130", 120)


def test_a_closed_stretch_that_leaves_the_history_is_not_told_again():
    state = RankState()
    values = rank_table(steps=320, changes={(at, 5): 5.0 for at in range(10, 50)})
    found = [
        finding
        for at in range(320)
        for finding in judged_ranks(values[at : at + 1], state=state, first_step=10 * at)
    ]
    assert [(f.key, f.closed_step) for f in found] == [
        ("rank:a0:r5:s100", None),
        ("rank:a0:r5:s100", 520),
    ]
