"""incidents.domain.card and advice: what is suggested, for which reason, at which price."""

from dataclasses import replace

import pytest

from apps.incidents.domain.clues import (
    WeightsSeen,
)
from apps.incidents.domain.incident import IncidentState
from apps.incidents.domain.practice import KNOWN
from apps.incidents.domain.shape import Shape
from apps.incidents.domain.suggestion import Move
from tests.card_samples import (
    JUMP,
    candidate,
    card,
    clues,
    passage,
)
from tests.incident_samples import (
    WARN,
    ended,
    failure,
    finding,
    level_shift,
    rank_outlier,
)

TWIN = passage(run_key="llm-7b", own=False, z=40.0, outlier=True)
EARLY = 1_031
"""30 steps behind the onset: too early to give up."""


def spike(kind="explosion", **fields):
    return finding("spike", kind, 1001, series="train/loss", **fields)


def moved(made):
    return made.advice.move, made.advice.target and made.advice.target.step


def test_a_changed_learning_rate_is_repaired_first_and_then_one_goes_back():
    made = card(clues=clues(rate=JUMP))
    assert moved(made) == ("fix first", 900)
    assert made.advice.sentence == (
        "Suggestion: fix first, then go back to step 900. The learning rate is what changed, and"
        " going back without repairing it fails: in our own test the loss exploded again."
        " Set the learning rate back."
    )
    assert made.advice.practice is not None
    assert made.advice.practice.team == "OPT-175B"


def test_a_silent_corruption_goes_back_and_leaves_its_host_out():
    made = card(level_shift(), rank_outlier(), candidates=(candidate(600),))
    assert moved(made) == ("roll back", 600)
    assert (made.exclude, made.skip) == (("gpu-b02",), None)
    assert made.advice.repair == "Exclude gpu-b02 from the next start."


def test_a_spike_that_healed_is_left_alone_and_its_data_looked_at():
    made = card(finding("o", "outlier", 350, WARN, **ended(9, 350)))
    assert (made.shape, made.advice.move) == (Shape.HEALED, "wait")
    assert made.advice.practice is not None
    assert made.advice.practice.team == "OLMo"
    assert made.skip == (348, 447)


def test_a_spike_that_is_falling_is_waited_for():
    made = card(spike(), clues=clues(left_ratio=0.2, newest_step=EARLY))
    assert moved(made) == ("wait", None)
    assert "20 % of it is left" in made.advice.reason
    assert made.waiting is not None
    assert (made.waiting.steps, made.waiting.gpu_hours) == (70, pytest.approx(70 * 0.5 * 8 / 3600))
    assert made.going_back is not None
    assert made.going_back.steps == 359


def test_nothing_heals_in_a_job_that_trains_no_more():
    made = card(spike(), clues=clues(left_ratio=0.2, newest_step=EARLY, running=False))
    assert moved(made) == ("roll back", 900)
    assert (made.waiting, made.hour) == (None, None)


def test_a_spike_that_lasts_is_rolled_back_with_a_warning_that_no_cause_is_removed():
    made = card(spike())
    assert moved(made) == ("roll back", 900)
    assert any("going back removes none" in warning for warning in made.warnings)


def test_data_that_never_heal_are_skipped_and_the_card_says_what_happens_otherwise():
    made = card(spike(), clues=clues(passages=(TWIN,)))
    assert moved(made) == ("roll back", 900)
    assert made.skip == (999, 1098)
    assert "Going back without skipping these steps repeats the spike." in made.warnings
    assert made.advice.practice is not None
    assert made.advice.practice.team == "PaLM 540B"


def test_a_level_that_a_sibling_shares_is_the_datas_own():
    assert (
        card(level_shift(), clues=clues(passages=(replace(TWIN, step=701),))).advice.move == "wait"
    )


def test_a_relapse_suggests_a_checkpoint_older_than_the_one_it_came_back_from():
    made = card(spike(), clues=clues(tried=(901,)))
    assert moved(made) == ("roll back", 750)
    assert made.advice.reason.startswith("It came back after going on from step 901.")
    assert "older ones are offered" in made.warnings[0]


def test_without_a_checkpoint_nobody_is_sent_back():
    assert card(spike(), candidates=()).advice.move == "look"
    assert card(level_shift(), rank_outlier(), candidates=()).advice.move == "fix first"


def test_what_is_over_asks_for_nothing():
    over = {"state": IncidentState.RESOLVED, "resolution": "recovered", "resolved_at_ns": 1}
    made = card(clues=clues(rate=JUMP), **over)
    assert moved(made) == ("wait", None)
    assert made.advice.reason == "The rollback is verified. There is nothing to go back for."


def test_weights_that_were_changed_from_outside_are_gone_back_from_even_if_the_loss_is_back():
    over = {"state": IncidentState.RESOLVED, "resolution": "closed", "resolved_at_ns": 1}
    seen = WeightsSeen("layer 1, weight norm", 1001, updated=False)
    changed = clues(weights=seen, ranks_logged=False)
    made = card(spike(**ended(30)), clues=changed, **over)
    assert made.headline == "hardware of one rank or host"
    assert moved(made) == ("roll back", 900)
    assert "changed from outside" in made.advice.reason


@pytest.mark.parametrize(
    ("fault", "move", "exclude"),
    [
        ("xid_79", "roll back", ("gpu-b02",)),
        ("hang_no_error", "roll back", ("gpu-b02",)),
        ("exit_sigterm", "roll back", ()),
        ("xid_13", "fix first", ()),
        ("py_exception", "fix first", ()),
    ],
)
def test_a_failing_host_is_left_out_and_a_failing_program_is_mended(fault, move, exclude):
    told = failure()
    named = replace(told, suspects=(replace(told.suspects[0], fault_class=fault),))
    made = card(named, candidates=(candidate(100),))
    assert moved(made) == (move, 100)
    assert made.exclude == exclude


@pytest.mark.parametrize(
    ("blame", "move", "exclude"),
    [
        ("host_hardware", "roll back", ("gpu-b02",)),
        ("scheduler", "roll back", ()),
        ("user_code", "fix first", ()),
    ],
)
def test_a_class_of_a_project_says_itself_whose_fault_it_is(blame, move, exclude):
    told = failure()
    facts = {**told.facts, "fault_class": "lane_lost", "blame": blame, "of_project": True}
    suspect = replace(told.suspects[0], fault_class="lane_lost")
    made = card(replace(told, suspects=(suspect,), facts=facts), candidates=(candidate(100),))
    assert (moved(made)[0], made.exclude) == (move, exclude)


@pytest.mark.parametrize(
    ("kind", "age", "move"),
    [
        ("explosion", 30, "wait"),
        ("explosion", 258, "roll back"),
        ("slow_divergence", 30, "roll back"),
        ("nonfinite", 3, "fix first"),
        ("level_shift", 30, "look"),
        ("loss_drop", 258, "look"),
        ("plateau", 258, "look"),
        ("precursor", 258, "wait"),
        ("throughput_drop", 258, "look"),
        ("save_failed", 258, "fix first"),
        ("a kind of tomorrow", 258, "look"),
    ],
)
def test_without_a_cause_the_shape_and_its_age_decide(kind, age, move):
    assert card(spike(kind), clues=clues(newest_step=1001 + age)).advice.move == move


def test_an_incident_that_is_not_about_the_loss_blames_no_learning_rate():
    made = card(spike("no_contact"), clues=clues(rate=JUMP))
    assert {c.cause for c in made.causes} == {"planned", "failure", "hardware"}
    assert (made.advice.target, made.waiting, made.hour) == (None, None, None)


def test_costs_without_rates_are_steps_only():
    made = card(spike(), clues=clues(step_s=None, gpus=None))
    assert made.going_back is not None
    assert (made.going_back.steps, made.going_back.hours, made.going_back.gpu_hours) == (
        359,
        None,
        None,
    )


@pytest.mark.parametrize("practice", KNOWN)
def test_every_practice_names_a_source_that_can_be_looked_up(practice):
    assert practice.url.startswith("https://")
    assert practice.source
    assert practice.move in [move.value for move in Move]
    assert practice.cited.endswith(f"({practice.source})")
