"""metrics.domain.rank_outlier."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.metrics.domain import rank_outlier
from apps.metrics.domain.rank_outlier import RankState
from tests.metric_samples import judged_ranks, of_ranks, points_of_ranks, rank_table


def test_two_of_three_steps_page_with_the_facts():
    (found,) = judged_ranks(rank_table(changes={(12, 5): 5.0, (14, 5): 5.5}))

    assert (found.kind, found.severity, found.rank) == ("rank_outlier", "page", 5)
    assert (found.onset_step, found.seen_step, found.key) == (120, 140, "rank:a0:r5:s120")
    assert (found.facts["last_normal_step"], found.facts["value"]) == (110, 5.5)
    assert found.facts["median_of_others"] == pytest.approx(2.0, rel=0.1)
    assert found.facts["z"] > 6
    assert [s.rank for s in found.suspects] == [5]
    assert "rank 5: rank/local_loss 5.5, the other 7 ranks" in found.evidence[0].text


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {(12, 5): 5.0},
        {(12, 5): 5.0, (16, 5): 5.0},
        {(12, 5): 5.0, (13, 6): 5.0},
        {(at, rank): 5.0 for at in (12, 13, 14) for rank in (1, 2, 3)},
    ],
    ids=["noise", "one step", "far apart", "another rank", "three of eight ranks"],
)
def test_what_is_no_outlier(changes):
    assert judged_ranks(rank_table(changes=changes)) == []


def test_three_ranks_are_too_few_to_compare():
    assert judged_ranks(rank_table(ranks=3, changes={(12, 1): 9.0, (13, 1): 9.0})) == []


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.001])
def test_no_number_and_too_small_stand_apart_too(value):
    (found,) = judged_ranks(rank_table(changes={(12, 5): value, (13, 5): value}))
    assert (found.rank, found.severity) == (5, "page")


def test_a_rank_that_was_always_different_is_only_a_warning():
    (found,) = judged_ranks(rank_table(changes={(at, 5): 5.0 for at in range(20)}))
    assert (found.severity, found.onset_step) == ("warn", 0)


def test_it_closes_after_three_normal_steps():
    state = RankState()
    values = rank_table(changes={(at, 5): 5.0 for at in (10, 11, 12)})
    (opened,) = judged_ranks(values[:13], state=state)
    (closed,) = judged_ranks(values[13:], state=state, first_step=130)

    assert (opened.key, opened.closed_step) == (closed.key, None)
    assert closed.closed_step == 150


def test_a_host_whose_logs_come_later_is_judged_then():
    values = rank_table(changes={(at, 5): 5.0 for at in range(12, 20)})
    whole, state = points_of_ranks(values), RankState()

    assert judged_ranks(of_ranks(whole, range(4)), state=state) == []
    (found,) = judged_ranks(whole, state=state)
    assert (found.rank, found.onset_step) == (5, 120)


@given(st.lists(st.integers(0, 20), max_size=5).map(sorted))
@settings(max_examples=20, deadline=None)
def test_where_it_is_cut_does_not_matter(cuts):
    values = rank_table(changes={(at, 5): 5.0 for at in (8, 9, 10)})
    state, found = RankState(), {}
    for first, last in zip([0, *cuts], [*cuts, 20], strict=True):
        part = judged_ranks(values[first:last], state=state, first_step=10 * first)
        found |= {finding.key: finding.onset_step for finding in part}
        state = rank_outlier.load(rank_outlier.dump(state))
    assert found == {"rank:a0:r5:s80": 80}


def test_the_state_is_bounded():
    state = RankState()
    judged_ranks(
        rank_table(steps=2_000, changes={(at, 5): 5.0 for at in range(100, 2_000)}), state=state
    )
    assert len(rank_outlier.dump(state)) < 40_000
    assert [told.since_step for told in state.told] == [1_000]


def test_a_foreign_state_is_refused():
    with pytest.raises(AppError, match="cannot be read"):
        rank_outlier.load(b"no")
