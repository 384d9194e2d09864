"""What no set of rules may do, whatever the checkpoints of a run look like."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.retention import (
    NEVER_FEWER,
    Held,
    Rules,
    in_words,
    placings,
    plan,
)

HOUR_NS = 3_600 * 10**9
NOW_NS = 1_780_000_000 * 10**9


def checkpoint(step: int, age_h: float = 0.0, **more: object) -> Held:
    return replace(Held(0, step, NOW_NS - int(age_h * HOUR_NS), 10), **more)


held = st.builds(
    Held,
    attempt=st.integers(0, 2),
    step=st.integers(0, 400),
    saved_at_ns=st.integers(-2_000, 10).map(lambda hours: NOW_NS + hours * HOUR_NS),
    size_bytes=st.integers(0, 100),
    complete=st.booleans(),
    placings=st.sampled_from([(), (), ((1, "arc acc"),), ((3, "arc acc"), (2, "mmlu acc"))]),
    guards=st.sampled_from([(), (), ("pinned",)]),
)
runs = st.lists(held, max_size=25, unique_by=lambda one: one.key)
counts = st.integers(0, 4)
rules = st.builds(
    Rules,
    last=counts,
    hourly=counts,
    daily=counts,
    weekly=counts,
    monthly=counts,
    yearly=counts,
    within_s=st.sampled_from([0.0, 86_400.0]),
    every_steps=st.sampled_from([0, 7, 100]),
    best=counts,
    dense_s=st.sampled_from([0.0, 3_600.0, 86_400.0]),
    unit_steps=st.sampled_from([1, 10]),
    min_kept=st.integers(0, 6),
)


@given(runs, rules)
def test_each_checkpoint_is_decided_once_and_has_a_reason(checkpoints, asked):
    found = plan(checkpoints, asked, NOW_NS)
    assert sorted(one.held.key for one in found.decisions) == sorted(c.key for c in checkpoints)
    assert all(one.reasons for one in found.decisions)


@given(runs, rules)
def test_what_is_guarded_incomplete_of_the_future_or_the_best_stays(checkpoints, asked):
    for gone in plan(checkpoints, asked, NOW_NS).dropped:
        assert gone.complete and not gone.guards and gone.saved_at_ns <= NOW_NS
        assert all(place > max(1, asked.best) for place, _ in gone.placings)


@given(runs, rules)
def test_the_last_complete_ones_stay_and_never_too_few(checkpoints, asked):
    complete = [one for one in checkpoints if one.complete and one.saved_at_ns <= NOW_NS]
    kept = [one for one in plan(checkpoints, asked, NOW_NS).kept if one in complete]
    newest = sorted(complete, key=lambda one: (one.saved_at_ns, one.attempt, one.step))
    assert set(newest[-NEVER_FEWER:]) <= set(kept)
    assert len(kept) >= min(len(complete), asked.min_kept)


@given(runs, rules)
def test_a_second_round_takes_nothing_more(checkpoints, asked):
    kept = plan(checkpoints, asked, NOW_NS).kept
    assert plan(kept, asked, NOW_NS).dropped == ()


@given(runs, rules, st.integers(1, 5))
def test_one_rule_more_takes_nothing_more(checkpoints, asked, last):
    some = replace(asked, last=1, min_kept=NEVER_FEWER)
    more = replace(some, last=1 + last, daily=some.daily + 1)
    assert set(plan(checkpoints, some, NOW_NS).kept) <= set(plan(checkpoints, more, NOW_NS).kept)


@given(runs)
def test_without_a_rule_everything_stays(checkpoints):
    assert plan(checkpoints, Rules(), NOW_NS).dropped == ()


@given(runs, rules)
def test_a_run_that_stands_still_loses_nothing_with_time(checkpoints, asked):
    past = [one for one in checkpoints if one.saved_at_ns <= NOW_NS]
    kept = plan(past, asked, NOW_NS).kept
    assert plan(past, asked, NOW_NS + 10_000 * HOUR_NS).kept == kept


@given(rules)
def test_rules_that_are_on_are_said_in_words(asked):
    assert bool(in_words(asked)) is not asked.keep_all


def test_each_kind_of_rule_says_why_it_keeps():
    checkpoints = [
        checkpoint(400, 0),
        checkpoint(300, 1),
        checkpoint(250, 30, guards=("tagged release",)),
        checkpoint(200, 50, placings=((1, "arc acc"),)),
        checkpoint(150, 60, guards=("leased by an evaluation",)),
        checkpoint(130, 61),
        checkpoint(100, 70),
    ]
    asked = Rules(last=3, within_s=7_200, every_steps=100)
    reasons = {one.held.step: one.reasons for one in plan(checkpoints, asked, NOW_NS).decisions}
    assert reasons == {
        400: (
            "the last complete one",
            "one of the last 3",
            "within 2 h 00 min of the newest",
            "one every 100 steps",
        ),
        300: (
            "the last but one",
            "one of the last 3",
            "within 2 h 00 min of the newest",
            "one every 100 steps",
        ),
        250: ("tagged release", "one of the last 3"),
        200: ("one every 100 steps", "the best of arc acc"),
        150: ("leased by an evaluation",),
        130: ("no rule keeps it",),
        100: ("one every 100 steps",),
    }


def test_a_failed_save_at_a_multiple_is_stood_in_for_by_the_next_one():
    checkpoints = [
        checkpoint(3_000, 0),
        checkpoint(2_900, 1),
        checkpoint(1_100, 9),
        checkpoint(1_000, 10, complete=False),
        checkpoint(900, 11),
    ]
    found = plan(checkpoints, Rules(every_steps=1_000), NOW_NS)
    assert [one.step for one in found.dropped] == []
    reasons = {one.held.step: one.reasons for one in found.decisions}
    assert reasons[1_100] == ("one every 1,000 steps",)


def test_every_field_that_keeps_something_turns_deleting_on():
    helpers = ("min_kept", "unit_steps")
    switches = [one.name for one in fields(Rules) if one.name not in helpers]
    assert all(not replace(Rules(unit_steps=1), **{name: 1}).keep_all for name in switches)
    assert Rules(unit_steps=1).keep_all
    assert Rules(dense_s=60.0).keep_all


def test_the_first_places_of_each_evaluation_are_told():
    scored = [
        ((0, 1), "arc", 0.5),
        ((0, 2), "arc", 0.7),
        ((0, 3), "arc", 0.5),
        ((0, 1), "ppl", -9.0),
    ]
    assert placings(scored, 2) == {(0, 1): ((2, "arc"), (1, "ppl")), (0, 2): ((1, "arc"),)}
