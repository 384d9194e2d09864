"""W&B history lines -> MetricRow: what is a number, what is skipped, which step and time."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.wandb import parse
from apps.ingest.wandb.descriptor import MESSAGES
from apps.ingest.wandb.parse import decode
from tests.wandb_records import history, items, record

NOW = 1_800_000_000_000_000_000


def rows(*records, **options):
    return decode(records, now_ns=NOW, **options).rows


def values(**logged):
    batch = decode([history({"_step": 1} | logged)], now_ns=NOW)
    return dict(batch.rows[0].values), dict(batch.skipped)


def test_step_time_and_values_of_a_line():
    (row,) = rows(history({"_step": 7, "_timestamp": 1795981136.25, "train/loss": 5.5, "n": 3}))

    assert (row.step, row.time_ns, row.rank) == (7, 1_795_981_136_250_000_000, None)
    assert row.values == {"train/loss": 5.5, "n": 3.0}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"Infinity", math.inf),
        (b"-Infinity", -math.inf),
        (b'"Infinity"', math.inf),
        (b"1e308", 1e308),
        (b"1e999", math.inf),
        (b"1" + b"0" * 400, math.inf),
        (b"-1" + b"0" * 400, -math.inf),
        (b"true", 1.0),
        (b"false", 0.0),
        (b"5e-324", 5e-324),
        (b"1180591620717411303424", 2.0**70),
    ],
)
def test_what_counts_as_a_number(text, number):
    assert values(x=text)[0] == {"x": number}


@pytest.mark.parametrize("text", [b"NaN", b'"NaN"'])
def test_nan_stays_nan(text):
    assert math.isnan(values(x=text)[0]["x"])


@pytest.mark.parametrize(
    "value",
    [
        "text",
        [1, 2],
        None,
        {"_type": "image-file", "path": "x.png"},
        {"_type": "histogram", "values": [1], "bins": [1, 0]},
    ],
)
def test_what_is_no_number_is_kept_beside_the_numbers(value):
    batch = decode([history({"_step": 1, "x": value, "loss": 1.5})], now_ns=NOW)
    assert (batch.rows[0].values, batch.rows[0].extra["o"]) == ({"loss": 1.5}, {"x": value})
    assert batch.skipped == {}


@pytest.mark.parametrize("value", [b"{oops", b"", b"1,2", b"[" * 5000])
def test_what_cannot_be_read_is_counted_and_harms_nothing(value):
    assert values(x=value, loss=1.5) == ({"loss": 1.5}, {"unreadable": 1})


def test_a_plain_dict_is_opened():
    logged = {"loss": 1, "by": {"de": 2.5}, "note": "x"}
    batch = decode([history({"_step": 1, "eval": logged})], now_ns=NOW)
    (row,) = batch.rows
    assert row.values == {"eval/loss": 1.0, "eval/by/de": 2.5}
    assert row.extra == {"o": {"eval/note": "x"}, "d": ["eval", "eval/by"]}


def test_an_object_that_comes_in_parts_is_put_together():
    parts = {("eval", "loss"): 2.0, ("eval", "h", "_type"): "x", ("eval", "h", "size"): 3}
    (row,) = rows(history({"_step": 1, **parts}))
    assert row.values == {"eval/loss": 2.0}
    assert row.extra["o"] == {"eval/h": {"_type": "x", "size": 3}}


def test_a_nested_key_is_joined_with_a_slash():
    (row,) = rows(history({"_step": 1, ("eval", "loss"): 2.0}))

    assert row.values == {"eval/loss": 2.0}


def test_the_step_message_stands_in_for_a_missing_step_value():
    assert [row.step for row in rows(history({"x": 1.0}, step=12))] == [12]


@pytest.mark.parametrize("step", [b"-1", b'"a"', b"NaN", b"1.5", b"1e300", b"null"])
def test_a_line_without_a_usable_step_is_counted(step):
    batch = decode([history({"_step": step, "x": 1.0})], now_ns=NOW)

    assert (batch.rows, batch.skipped) == ((), {"row without a step": 1})


@pytest.mark.parametrize("stamp", [b'"x"', b"NaN", b"-5", b"1e300"])
def test_a_line_without_a_usable_time_takes_that_of_the_line_before(stamp):
    before = history({"_step": 1, "_timestamp": 1_700_000_000})

    assert [r.time_ns for r in rows(before, history({"_step": 2, "_timestamp": stamp}))] == [
        1_700_000_000_000_000_000
    ] * 2
    assert rows(history({"_step": 2, "_timestamp": stamp}))[0].time_ns == NOW


def test_a_time_shift_moves_the_time_and_no_value():
    (row,) = rows(history({"_step": 1, "_timestamp": 1_700_000_000, "x": 2.0}), shift_ns=5)

    assert (row.time_ns, row.values) == (1_700_000_000_000_000_005, {"x": 2.0})


def test_an_unreadable_record_is_a_problem_with_its_number_and_the_next_one_is_read():
    good = history({"_step": 1, "x": 1.0})
    batch = decode(
        [record("history", b"\x0a\xff"), good[:-1], good, b"\x0b", b""], now_ns=NOW, first_record=40
    )

    assert [row.step for row in batch.rows] == [1]
    assert [problem.split(":")[0] for problem in batch.problems] == [
        "record 40",
        "record 41",
        "record 43",
    ]


LOGGED = st.dictionaries(
    st.text(max_size=12) | st.sampled_from(["_step", 'a"b', "a\\b", "k" * 128, "h/_type", "é"]),
    st.floats() | st.integers() | st.sampled_from(["NaN", "x" * 130, None, True, [1], {"a": 1}]),
    max_size=8,
)


@given(st.lists(LOGGED, max_size=5))
def test_many_records_at_once_say_what_protobuf_says_of_each(logged):
    records = [history({"_step": 3} | row) for row in logged]
    texts = [{key: json.dumps(value) for key, value in row.items()} for row in logged]
    summaries = [record("summary", MESSAGES["Updates"](update=items(**row))) for row in texts]
    found = decode(records + summaries, now_ns=NOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse, "objects", lambda payloads: [None] * len(payloads))
        slow = decode(records + summaries, now_ns=NOW)

    assert repr(found) == repr(slow)


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing(data):
    assert len(decode([data, record("history", data)], now_ns=NOW).problems) <= 2
