import pytest

from apps.rollbacks.domain.cost import CostBasis
from apps.rollbacks.domain.lineage import Branch
from apps.rollbacks.domain.margin import MarginPolicy
from apps.rollbacks.domain.ranking import RankingPolicy, rank
from tests.rollback_samples import LRBUMP_BRANCHES, SECOND, fault, lrbump, saved, scene

SDC = [saved(n) for n in range(100, 801, 100)]


def _eligible(ranking):
    return [c.step for c in ranking.candidates if c.eligible]


def _others(ranking):
    return [c.step for c in ranking.candidates if not c.eligible]


@pytest.mark.parametrize("onset", [1000, 1001])
def test_lrbump_goes_back_one_save_more_than_the_newest_before_the_onset(onset):
    ranking = rank(scene(lrbump(), fault(onset=onset), LRBUMP_BRANCHES))
    assert _eligible(ranking) == [750, 600, 450, 300, 150]
    assert _others(ranking) == [900]
    assert ranking.margin.words == "one save interval of 150 steps"
    assert {(e.attempt, e.step) for e in ranking.excluded} == {
        (0, 1050), (0, 1200), (1, 1050), (1, 1200), (1, 1350), (1, 1500)
    }  # fmt: skip


def test_a_project_may_ask_for_another_margin():
    policy = RankingPolicy(MarginPolicy(fixed_steps=50))
    ranking = rank(scene(lrbump(), fault(), LRBUMP_BRANCHES), policy)
    assert _eligible(ranking)[0] == 900
    assert ranking.margin.words == "set for this project"


@pytest.mark.parametrize(
    ("onset", "distance"), [(701, "1 step"), (705, "5 steps"), (711, "11 steps")]
)
def test_sdc_rollback_goes_back_to_600_and_shows_700_inside_the_margin(onset, distance):
    ranking = rank(scene(SDC, fault("level_shift", onset)))
    assert _eligible(ranking)[:2] == [600, 500]
    assert _others(ranking) == [700]
    assert ranking.candidates[-1].reasons[0].text == (
        f"inside the margin: {distance} before the onset, 100 are asked for"
    )
    assert [e.step for e in ranking.excluded] == [800]


def test_a_save_at_the_onset_counts_as_after_it():
    late = saved(700, saved_at_ns=700 * SECOND)
    ranking = rank(scene([late], fault("level_shift", 700)))
    assert ranking.candidates == ()
    assert ranking.excluded[0].reason == "saved at or after the onset (step 700)"


def test_a_save_finished_before_the_onset_of_the_same_step_is_listed():
    early = saved(700, saved_at_ns=700 * SECOND - 1)
    ranking = rank(scene([early], fault("level_shift", 700)))
    assert _others(ranking) == [700]


def test_slow_divergence_needs_a_wide_margin():
    ranking = rank(scene(lrbump(), fault("slow_divergence"), LRBUMP_BRANCHES))
    assert _eligible(ranking)[0] == 750
    assert _others(ranking) == [900]


def test_after_a_crash_the_newest_whole_checkpoint_is_first():
    saves = [saved(50), saved(100), saved(120), saved(121)]
    ranking = rank(scene(saves, fault("failure", 120)))
    assert _eligible(ranking) == [120, 100, 50]
    assert ranking.excluded[0].reason == "saved after the last common step 120"


def test_with_an_unknown_onset_the_time_of_the_save_decides():
    ranking = rank(scene([saved(900), saved(1100)], fault(onset=None)))
    assert _eligible(ranking) == [900]
    assert "look at older ones too" in ranking.candidates[0].reasons[0].text


def test_an_abandoned_branch_is_not_in_the_past():
    saves = [saved(900), saved(1050), saved(1050, 1), saved(1200, 1)]
    branches = (*LRBUMP_BRANCHES, Branch(2, 1, 1100))
    ranking = rank(scene(saves, fault(onset=1400, attempt=2), branches))
    assert [(c.attempt, c.step) for c in ranking.candidates] == [(1, 1050), (0, 900)]
    assert ranking.excluded[0].reason == (
        "attempt 1 at this step is not in the past of the incident"
    )


def test_the_cost_is_steps_times_step_time_times_gpus():
    (best,) = rank(scene([saved(900)])).candidates
    assert best.lost_steps == 350
    assert best.lost_gpu_hours == pytest.approx(350 * 2.0 * 8 / 3600)
    (unknown,) = rank(scene([saved(900)], cost=CostBasis(1250, None, 8))).candidates
    assert unknown.lost_gpu_hours is None
    assert unknown.reasons[-1].text == (
        "350 steps would be done again: an unknown number of GPU-hours"
    )
