"""core.words and core.plain."""

import math

import numpy as np
import pytest

from apps.core.plain import name_of, packed, plain
from apps.core.records import Evidence
from apps.core.words import duration, many, number, place


@pytest.mark.parametrize(
    "value,text",
    [
        (0.97123, "0.971"),
        (1234.5, "1234"),
        (1e308, "1e+308"),
        (-2e7, "-2e+07"),
        (math.nan, "NaN"),
        ("NaN", "NaN"),
        (-math.inf, "-inf"),
        ("Infinity", "inf"),
        (None, "not logged"),
    ],
)
def test_numbers_have_three_digits_and_odd_ones_a_name(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    "seconds,text",
    [
        (-1, "0 s"),
        (3.4, "3 s"),
        (14 * 60, "14 min"),
        (2 * 3600 + 300, "2 h 05 min"),
        (3 * 86_400 + 4 * 3600, "3 d 4 h"),
    ],
)
def test_spans_of_time_are_short(seconds, text):
    assert duration(seconds) == text


def test_one_step_is_one_step():
    assert [many(1, "step"), many(2, "step"), many(0, "layer")] == ["1 step", "2 steps", "0 layers"]


@pytest.mark.parametrize(
    "rank,node,text",
    [
        (5, "gpu-b02", "rank 5 (gpu-b02)"),
        (5, None, "rank 5"),
        (None, "gpu-b02", "gpu-b02"),
        (None, None, "an unknown rank"),
    ],
)
def test_a_place_says_what_is_known(rank, node, text):
    assert place(rank, node) == text


@pytest.mark.parametrize(
    "value,name", [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_what_json_cannot_hold_goes_by_its_name(value, name):
    assert (name_of(value), plain({"a": [value, (1, value)]})) == (name, {"a": [name, [1, name]]})


def test_a_record_becomes_what_a_json_column_holds():
    record = {3: (Evidence("loss", step=np.int64(7)), np.float64("inf"))}
    evidence = {"text": "loss", "time_ns": None, "step": 7, "rank": None, "node": None, "weight": 1}
    assert packed(record) == {"3": [evidence, "Infinity"]}
