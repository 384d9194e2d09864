"""incidents.domain.earliest."""

import math

import pytest

from apps.incidents.domain.earliest import as_signal, first_move, move_of, moved_with, next_look
from apps.incidents.domain.incident import EarliestSignal
from apps.metrics.domain.layer_keys import recogniser
from tests.incident_samples import at

ONSET = 1001


def move(series, step, z):
    return move_of(series, step, z, recogniser().recognise(series))


def test_the_first_to_move_wins():
    moves = [move("train/grad_norm", 1000, 9.0), move("act_max/layers.4", 985, 7.0)]
    assert first_move(moves, ONSET) == moves[1]


def test_at_the_same_step_a_layer_says_more_than_the_whole_job():
    moves = [move("train/grad_norm", 1000, 90.0), move("grad_norm/layers.4", 1000, 7.0)]
    assert first_move(moves, ONSET) == moves[1]


def test_of_two_layers_the_one_farther_out_wins():
    moves = [move("grad_norm/layers.4", 1000, 7.0), move("grad_norm/layers.2", 1000, math.inf)]
    assert first_move(moves, ONSET) == moves[1]


@pytest.mark.parametrize("step", [600, 1002])
def test_a_move_long_ago_or_after_the_onset_is_another_story(step):
    assert first_move([move("act_max/layers.4", step, 7.0)], ONSET) is None


def test_nothing_moved():
    assert first_move([], ONSET) is None


@pytest.mark.parametrize(
    ("first", "more"), [("grad_norm/layers.4", 2), ("train/grad_norm", 4), ("act_max/layers.9", 3)]
)
def test_it_is_told_how_many_moved_with_it(first, more):
    others = ("grad_norm/layers.2", "act_max/layers.2", "grad_norm/layers.3", "act_max/layers.4")
    moves = [move(first, 1000, 9.0), *(move(name, 1000, 8.0) for name in others)]
    moves.append(move("act_max/layers.7", 1001, 99.0))
    assert moved_with(moves, moves[0]) == more


@pytest.mark.parametrize(
    ("layer", "more", "text"),
    [
        ("layer 4", 0, "x"),
        ("layer 4", 1, "x and 1 more layer"),
        ("layer 4", 2, "x and 2 more layers"),
        (None, 2, "x and 2 more series"),
    ],
)
def test_the_sentence_says_how_many(layer, more, text):
    assert EarliestSignal("x", 985, at(985), layer, more=more).named == text


def test_the_signal_names_layer_and_lead():
    signal = as_signal(move("act_max/layers.4", 985, 7.0), at(985), (ONSET, at(ONSET)))
    assert (signal.layer, signal.lead_steps, signal.lead_s) == ("layer 4", 16, 16.0)
    assert signal.named == "layer 4, activation max"


def test_a_module_outside_the_layers_is_named_but_is_no_layer():
    signal = as_signal(move("grad_norm/head", 985, 7.0), at(985), (ONSET, at(ONSET)))
    assert (signal.layer, signal.named) == (None, "head, grad norm")


@pytest.mark.parametrize("newest,again", [(1001, 1006), (1006, 1051), (1050, 1051), (1051, None)])
def test_it_is_looked_at_again_until_a_move_has_had_time_to_last(newest, again):
    assert next_look(ONSET, newest) == again
