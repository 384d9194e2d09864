"""incidents.domain.movers."""

import math
from dataclasses import replace

import pytest

from apps.incidents.domain.earliest import move_of
from apps.incidents.domain.movers import MAX_KEPT, Anchor, Looked, anchor_of, in_order
from apps.metrics.domain.layer_keys import recogniser
from tests.incident_samples import at, explosion, finding

LOSS = Anchor(1001, at(1001), loss=True)
LOOKED = Looked(at=40, left_out=3, layered=True)


def move(series, step, z=9.0, **more):
    made = move_of(series, step, z, recogniser().recognise(series))
    return replace(made, time_ns=at(step), **more)


def listed(*moves):
    return in_order(moves, LOSS, LOOKED)


def test_the_first_to_move_is_first_and_layers_come_before_the_job():
    found = listed(
        move("train/grad_norm", 985, 99.0), move("act_max/layers.4", 985), move("loss", 1001),
        move("grad_norm/layers.2", 1010), move("update_norm/layers.3", 900),
    )  # fmt: skip
    assert [m.series for m in found.items] == [
        "update_norm/layers.3", "act_max/layers.4", "train/grad_norm", "loss", "grad_norm/layers.2",
    ]  # fmt: skip
    assert [m.lead_steps for m in found.ahead] == [101, 16, 16, 0]
    assert [m.lead_steps for m in found.behind] == [-9]
    assert (found.moved, found.looked_at, found.left_out) == (5, 40, 3)


def test_a_mover_says_layer_statistic_rank_and_lead_in_time():
    (one,) = listed(move("act_max/layers.4", 985, before=2.0, value=9.0)).items
    assert (one.layer, one.statistic, one.rank) == ("layer 4", "activation max", None)
    assert (one.words, one.lead_s) == ("layer 4, activation max", 16.0)
    assert (one.before, one.value, one.z) == (2.0, 9.0, 9.0)


def test_of_a_series_of_ranks_the_rank_is_named():
    (one,) = listed(move("rank/local_loss", 985, rank=5)).items
    assert (one.rank, one.words) == (5, "rank 5, local loss")


def test_a_value_that_is_no_number_is_none():
    (one,) = listed(move("act_max/layers.4", 985, math.inf, value=math.nan)).items
    assert (one.value, one.z, one.before) == (None, None, None)


def test_more_than_a_page_can_hold_are_counted():
    found = listed(*(move(f"act_max/layers.{n}", 1000) for n in range(MAX_KEPT + 7)))
    assert (found.moved, found.kept) == (MAX_KEPT + 7, MAX_KEPT)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([explosion()], (1001, True)),
        ([finding("t", "layer_trend", 607), explosion()], (1001, True)),
        ([finding("t", "layer_trend", 607)], (600, False)),
        ([], (600, False)),
    ],
)
def test_leads_are_counted_from_the_loss_or_else_from_the_onset(findings, expected):
    anchor = anchor_of(findings, (600, at(600)))
    assert (anchor.step, anchor.loss) == expected


def test_without_a_step_there_is_nothing_to_count_from():
    assert anchor_of([], (None, at(1))) is None
