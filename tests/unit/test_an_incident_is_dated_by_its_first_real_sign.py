"""incidents.domain.summary: kind, severity, onset, title, settled."""

import itertools
import math
import random
from dataclasses import replace

import pytest

from apps.incidents.domain.summary import TELLING, figure, layer_of, summarise
from tests.incident_samples import (
    INFO,
    PAGE,
    WARN,
    at,
    ended,
    explosion,
    failure,
    finding,
    level_shift,
    rank_outlier,
)


def test_the_learning_rate_bump_is_an_explosion_with_its_numbers():
    summary = summarise([explosion()])
    assert (summary.kind, summary.page, summary.onset_step) == ("explosion", True, 1001)
    assert summary.title == "Loss 0.97 -> 3.65 since step 1,001"
    assert summary.series == "train/loss"


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ("Loss/train", "Loss"),
        ("l2_norm/grad/global", "Grad norm"),
        ("train_loss", "Train loss"),
        ("model/my_loss", "My loss"),
    ],
)
def test_a_title_says_which_series_also_where_the_last_part_of_its_name_does_not(series, words):
    summary = summarise([replace(explosion(), series=series)])
    assert summary.title == f"{words} 0.97 -> 3.65 since step 1,001"


def test_the_corrupted_rank_is_one_level_shift_that_names_it():
    summary = summarise([rank_outlier(), level_shift()], {5: "gpu-b02"})
    assert (summary.kind, summary.onset_step) == ("level_shift", 701)
    assert summary.title == (
        "Loss 1.12 -> 1.33 since step 701; rank 5 (gpu-b02) apart from all others"
    )


def test_a_healed_spike_says_that_it_is_over():
    facts = {"before": 1.85, "value": 8.13}
    spike = finding("o", "outlier", 350, WARN, series="train/loss", facts=facts, **ended(9, 350))
    assert summarise([spike]).title == "Loss 1.85 -> 8.13 at step 350, back by itself"


def test_a_healed_outlier_before_an_explosion_does_not_date_it():
    early = finding("o", "outlier", 970, WARN, **ended(5, 970))
    assert summarise([early, explosion()]).onset_step == 1001


def test_a_precursor_before_an_explosion_dates_it():
    early = finding("p", "precursor", 985, WARN, series="act_max/layers.4")
    summary = summarise([explosion(), early])
    assert (summary.onset_step, summary.onset_time_ns) == (985, at(985))
    assert (summary.kind, summary.series, summary.layer) == (
        "explosion",
        "act_max/layers.4",
        "layer 4",
    )


def test_a_quiet_outlier_never_dates_an_incident():
    assert summarise([finding("o", "outlier", 900, INFO), explosion()]).onset_step == 1001


@pytest.mark.parametrize("louder,quieter", list(itertools.pairwise(TELLING)))
def test_of_equally_loud_findings_the_more_telling_one_names_the_incident(louder, quieter):
    both = [finding("a", quieter, 5, PAGE), finding("b", louder, 6, PAGE)]
    assert summarise(both).kind == louder


def test_a_loud_finding_names_the_incident_before_a_telling_one():
    both = [finding("a", "level_shift", 5, WARN), finding("b", "rank_outlier", 6, PAGE, rank=1)]
    assert summarise(both).kind == "rank_outlier"


def test_an_unknown_kind_is_less_telling_than_a_known_one():
    both = [finding("a", "brand_new", 5), finding("b", "precursor", 6)]
    assert summarise(both).kind == "precursor"


def test_a_failure_keeps_the_words_of_the_triage():
    summary = summarise([failure()])
    assert summary.title == "rank 6 (gpu-b02) failed: py_exception"


@pytest.mark.parametrize("facts,settled", [({"settled": False}, False), ({}, True)])
def test_an_unsettled_triage_makes_an_unsettled_incident(facts, settled):
    assert summarise([failure(facts=facts)]).settled is settled


def test_the_order_of_findings_does_not_matter():
    findings = [explosion(), rank_outlier(), level_shift(), failure()]
    mixed = random.Random(4).sample(findings, 4)
    assert summarise(findings) == summarise(mixed)


@pytest.mark.parametrize(
    "value,text",
    [(0.97, "0.97"), ("NaN", "NaN"), (math.inf, "inf"), ("-Infinity", "-inf"), (1e308, "1e+308")],
)
def test_every_number_can_be_said(value, text):
    assert figure(value) == text


def test_a_loss_that_became_nan_says_so():
    broken = finding(kind="nonfinite", series="train/loss", facts={"before": 2.1, "value": "NaN"})
    assert summarise([broken]).title == "Loss 2.10 -> NaN since step 1,001"


@pytest.mark.parametrize(
    "series,layer",
    [
        ("grad_norm/layers.4", "layer 4"),
        ("param_norm/h.3.attn", "layer 3"),
        ("train/grad_norm", None),
        (None, None),
    ],
)
def test_a_series_names_its_layer(series, layer):
    assert layer_of(series) == layer
