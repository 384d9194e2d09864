"""incidents.domain.checks and weigh: every cause by what was tested."""

import pytest

from apps.core.records import NodeEvent
from apps.incidents.domain.clues import Clues, ConfigSeen, RateSeen, ResumeSeen, ScaleSeen
from tests.card_samples import JUMP, card, clues, passage, result_of, seen_of, signal
from tests.incident_samples import (
    WARN,
    at,
    ended,
    failure,
    finding,
    level_shift,
    rank_outlier,
)

XID = NodeEvent("gpu-b02", at(690), "xid", "error", "Xid 79: GPU has fallen off the bus")


def plain(step=1001, **fields):
    """An explosion without any facts."""
    return finding("spike", "explosion", step, series="train/loss", **fields)


def healed(step=350):
    return finding("o", "outlier", step, WARN, **ended(9, step))


@pytest.mark.parametrize(
    ("rate", "result"),
    [
        (JUMP, "holds"),
        (RateSeen(6e-4, 2e-3, rising=True), "holds"),
        (RateSeen(6e-4, 2.4e-2, jump_step=1004), "speaks against"),
        (RateSeen(6e-4, 6e-4), "speaks against"),
        (None, "could not be tested"),
    ],
)
def test_the_learning_rate_is_the_cause_only_where_it_changed_at_the_onset(rate, result):
    assert result_of(card(plain(), clues=clues(rate=rate)), "learning_rate") == result


def test_what_is_not_logged_is_named_and_never_counts_for_or_against():
    made = card(plain(), clues=Clues())
    assert made.cause is None
    assert seen_of(made, "learning_rate") == ["the learning rate is not logged"]
    assert "no loss of single ranks is logged" in seen_of(made, "hardware")
    assert seen_of(made, "optimizer") == ["no statistics of layers are logged"]
    assert seen_of(made, "data") == ["no other attempt trained step 1,001"]
    assert made.headline == "no known cause"


def test_the_same_outlier_at_the_same_step_in_a_sibling_run_means_the_data():
    twin = passage(run_key="llm-7b", own=False, z=40.0, outlier=True)
    made = card(plain(), clues=clues(passages=(twin,)))
    assert made.cause is not None
    assert made.cause.cause == "data"
    (check,) = made.cause.checks
    assert (check.test, check.seen) == (
        "step 1,001 in run llm-7b",
        "the same outlier at the same step (+40 robust standard deviations)",
    )


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({"own": True}, "speaks against"),
        ({"own": False, "same_order": True}, "speaks against"),
        ({"own": False, "same_order": False}, "could not be tested"),
        ({"own": False, "same_order": None}, "could not be tested"),
    ],
)
def test_a_normal_pass_clears_the_data_only_if_it_read_the_same_data(fields, result):
    made = card(plain(), clues=clues(passages=(passage(**fields),)))
    assert result_of(made, "data") == result


def test_a_pass_that_is_normal_because_the_data_were_skipped_accuses_them():
    made = card(plain(), clues=clues(passages=(passage(),)), skipped=((1, (999, 1098)),))
    assert seen_of(made, "data") == ["normal after its data was skipped"]
    assert made.headline == "the data of these steps"


def test_a_spike_that_healed_makes_the_data_suspect():
    made = card(healed())
    assert made.cause is not None
    assert (made.cause.cause, made.cause.confidence) == ("data", 0.5)
    assert made.headline == "the spike healed by itself: the data of step 350 is suspect"


def test_healthy_siblings_hardly_clear_the_data_however_many_they_are():
    calm = tuple(passage(run_key=f"r{n}", own=False, same_order=True) for n in range(5))
    one, many = (card(healed(), clues=clues(passages=p)).causes[0] for p in (calm[:1], calm))
    assert (one.cause, one.confidence, many.confidence) == ("data", 0.45, 0.45)


def test_a_lone_rank_and_an_event_of_its_host_add_up():
    alone = card(level_shift(), rank_outlier(), clues=clues())
    both = card(level_shift(), rank_outlier(), clues=clues(events=(XID,)))
    assert alone.cause is not None
    assert both.cause is not None
    assert (alone.cause.cause, both.cause.cause) == ("hardware", "hardware")
    assert both.cause.confidence > alone.cause.confidence
    assert "gpu-b02: xid Xid 79: GPU has fallen off the bus, 11 s before the onset" in seen_of(
        both, "hardware"
    )


def test_a_layer_that_moves_alone_is_a_hint_and_one_of_many_is_none():
    alone = card(plain(), earliest_signal=signal(more=0))
    many = card(plain(), earliest_signal=signal(more=3))
    assert len(seen_of(alone, "hardware")) == len(seen_of(many, "hardware")) + 1


@pytest.mark.parametrize(
    ("config", "result"),
    [
        (ConfigSeen(0, ("optimizer.lr: 0.0006 → 0.024",), steering=True), "holds"),
        (ConfigSeen(0, (), commits=("abc", "abd")), "holds"),
        (ConfigSeen(0, (), commits=("abc", "abc")), "speaks against"),
        (ConfigSeen(0, None), "could not be tested"),
        (None, "could not be tested"),
    ],
)
def test_configuration_and_code_are_compared_with_the_attempt_before(config, result):
    made = card(plain(), clues=clues(first_step=900, config=config))
    assert result_of(made, "change") == result


def test_a_configuration_that_trained_well_for_long_is_not_the_cause():
    changed = ConfigSeen(0, ("seed: 1 → 2",))
    made = card(plain(), clues=clues(first_step=500, config=changed))
    assert seen_of(made, "change") == ["the same process had trained 501 steps with it"]


@pytest.mark.parametrize(
    ("resume", "result"),
    [
        (ResumeSeen(1, 996, 5), "holds"),
        (ResumeSeen(1, 950, 51, optimizer=False), "holds"),
        (ResumeSeen(1, 700, 301), "speaks against"),
        (None, "speaks against"),
    ],
)
def test_a_restart_counts_only_shortly_before(resume, result):
    assert result_of(card(plain(), clues=clues(resume=resume)), "resume") == result


def test_missing_optimizer_state_weighs_more_than_a_near_restart():
    near = card(plain(), clues=clues(resume=ResumeSeen(1, 996, 5)))
    bare = card(plain(), clues=clues(resume=ResumeSeen(1, 996, 5, optimizer=False)))
    confidence = [next(c for c in m.causes if c.cause == "resume").confidence for m in (near, bare)]
    assert confidence[0] < confidence[1]


@pytest.mark.parametrize(
    ("scale", "rows", "result"),
    [
        (ScaleSeen(65536, 4096), 0, "holds"),
        (ScaleSeen(65536, 32768), 0, "speaks against"),
        (None, 3, "holds"),
        (None, None, "could not be tested"),
    ],
)
def test_overflow_is_seen_in_the_loss_scale_and_in_values_that_are_no_numbers(scale, rows, result):
    made = card(plain(), clues=clues(scale=scale, nonfinite_rows=rows))
    assert result_of(made, "numerics") == result


def test_a_signal_of_the_optimisation_that_leads_the_loss_is_named_with_its_lead():
    made = card(plain(), earliest_signal=signal())
    assert seen_of(made, "optimizer") == [
        "update_ratio/layers.4 and 3 more layers moved 8 steps before"
    ]


def test_an_early_sign_counts_only_if_it_began_before_the_loss_moved():
    def sign(step):
        return finding("l", "layer_trend", step, WARN, title="layer 4, update norm drifts")

    before = card(plain(), sign(990))
    with_it = card(plain(), sign(1000))
    assert seen_of(before, "optimizer") == ["layer 4, update norm drifts"]
    assert result_of(with_it, "optimizer") == "speaks against"


def test_a_drift_that_siblings_share_is_the_schedules_and_not_the_datas():
    made = card(
        finding("l", "layer_trend", 1001, WARN),
        clues=clues(passages=(passage(own=False, outlier=True),)),
    )
    assert "data" not in {c.cause for c in made.causes}


def test_a_failure_keeps_the_words_of_its_triage():
    made = card(failure(facts={"cause_hint": "Rank 6 on gpu-b02 raised ValueError"}))
    assert made.headline == "Rank 6 on gpu-b02 raised ValueError"


def test_a_planned_change_explains_what_nobody_else_does():
    shift = finding("l", "level_shift", 500, WARN, facts={"planned": "batch size 256 → 512"})
    made = card(shift)
    assert (made.shape, made.cause and made.cause.cause) == ("planned change", "planned")
    assert seen_of(made, "planned") == ["batch size 256 → 512"]


def test_causes_that_hold_come_first_then_the_untested_then_the_refuted():
    results = [c.result for c in card(plain(), clues=clues(rate=JUMP, scale=None)).causes]
    order = {"holds": 0, "could not be tested": 1, "speaks against": 2}
    assert results == sorted(results, key=lambda r: order[r])
    assert set(results) == set(order)
