"""Numbers and extra together give back any row of history: strings, lists, objects, odd names."""

import math
import struct
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from apps.ingest.wandb import extras
from apps.ingest.wandb.extras import extra_of
from apps.ingest.wandb.values import Numbers, nanoseconds

NAMES = st.text("ab/", max_size=4) | st.sampled_from(["loss", "a/b", "é", "_type"])
TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=5)
LEAVES = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers(-(2**63), 2**63 - 1)
    | TEXT.filter(lambda text: text not in ("NaN", "Infinity", "-Infinity"))
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)
ROWS = st.dictionaries(NAMES.filter(lambda name: name != "_type"), VALUES, max_size=5)
HISTOGRAM = {"_type": "histogram", "values": [1, 2], "bins": [0.0, 0.5, 1.0]}


def bits(value):
    """Equal only for values of equal bits and kinds; a whole float is what its int is."""
    if isinstance(value, dict):
        return {name: bits(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [bits(inner) for inner in value]
    if isinstance(value, float) and math.isnan(value):
        return "a NaN"
    if isinstance(value, float) or (type(value) is int and abs(value) <= 2**53):
        return struct.pack("<d", value)
    return (type(value), value)


def read_back(row):
    """The row after its way through flat numbers and packed extras."""
    dropped = Counter()
    extra = extra_of(row, 0, dropped) or {}
    assert not dropped
    values = Numbers().of(dict(row))
    packed = extras.pack([(7, extra)])
    assert len(values) == len(set(values))
    (_, kept), *_ = extras.unpack(packed)
    return extras.nested(extras.flat(values, kept), kept)


@given(ROWS)
@example({"eval": {"acc": 1, "ok": True, "name": "x"}, "eval/acc": 2.0})
@example({"a": {"b/c": 1}, "x/y": {"z": None}, "x/y/z": 3})
@example({"h": HISTOGRAM, "g": {"h": HISTOGRAM, "n": math.nan}})
@example({"a": {}, "b": [], "": 1.5, "c": {"": math.inf, "d": {"e": -0.0}}})
@example({"/": {"": 0}, "//": {"a": 1}, "a": {"b": {"_type": "x", "c": 1}}})
def test_any_row_comes_back(row):
    assert bits(read_back(row)) == bits(row)


@given(st.floats(2**24, 9e9 - 1))
def test_a_time_is_kept_to_the_bit(seconds):
    time_ns = nanoseconds(seconds)
    assert extra_of({"_timestamp": seconds, "loss": 1.0}, time_ns, Counter()) is None


@given(st.floats(2.0**-1000, 1.0), st.floats(allow_nan=False))
def test_a_time_that_nanoseconds_cannot_give_back_is_kept_itself(seconds, runtime):
    time_ns = nanoseconds(seconds)
    row = {"_timestamp": seconds, "_runtime": runtime}
    own = extras.own(extra_of(row, time_ns, Counter()) or {})
    assert own["_runtime"] == runtime
    assert own.get("_timestamp", time_ns / 1e9) == seconds


def test_a_row_of_numbers_has_no_extra():
    assert extra_of({"loss": 1.5, "epoch": 3}, 0, Counter()) is None


def test_what_is_too_large_is_counted_and_the_numbers_stay():
    dropped = Counter()
    row = {"text": "x" * extras.MAX_ROW_BYTES, "loss": 1.0, "_runtime": 2.0}
    assert extra_of(row, 0, dropped) == {"r": 2.0}
    assert dropped == {"str": 1}


def test_what_is_nested_too_deeply_is_counted():
    deep = 1
    for _ in range(40):
        deep = {"x": deep}
    dropped = Counter()
    assert extra_of({"deep": deep, "list": [deep]}, 0, dropped) is None
    assert dropped == {"dict": 1, "list": 1}
