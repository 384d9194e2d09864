"""ingest.rows.parse"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.rows.parse import decode, first_time_ns, parse_body
from apps.ingest.wandb.values import Numbers
from tests.row_files import SEEN_NS, rows_body

T_NS = 1_795_981_200_500_000_000


def read(rows, **changes):
    """(step, values) of each row, and what was skipped."""
    body, numbers = parse_body(rows_body(rows, **changes)), Numbers()
    first = body.header.first
    found = decode(body, range(first, first + len(body.records)), numbers)
    return [(one.row.step, one.row.values) for one in found], dict(numbers.skipped)


def rows_of(rows, **changes):
    return all_of(parse_body(rows_body(rows, **changes)))


def all_of(body):
    first = body.header.first
    return decode(body, range(first, first + len(body.records)), Numbers())


@pytest.mark.parametrize(
    "key", ["step", "_step", "global_step", "trainer/global_step", "iteration", "iter", "update"]
)
def test_the_step_goes_by_many_names(key):
    assert read([{key: 7, "loss": 2.5}]) == ([(7, {"loss": 2.5})], {})


def test_nested_objects_are_opened():
    assert read([{"step": 1, "train": {"loss": 2.5, "opt": {"lr": 0.1}}}])[0] == [
        (1, {"train/loss": 2.5, "train/opt/lr": 0.1})
    ]


def test_bare_nan_and_named_infinity_are_values():
    ((_, values),), _ = read(['{"step": 3, "loss": NaN, "norm": "Infinity"}\n'])
    assert math.isnan(values["loss"])
    assert values["norm"] == math.inf


def test_what_is_no_number_is_counted():
    found, skipped = read([{"step": 1, "loss": 1.0, "note": "x", "tags": [1]}, {"loss": 2.0}])
    assert found == [(1, {"loss": 1.0})]
    assert skipped == {"str": 1, "list": 1, "row without a step": 1}


def test_an_empty_line_is_nothing_and_a_broken_one_is_counted():
    found, skipped = read(
        [{"step": 1, "a": 1}, "\n", '{"step": 2, "a"\n', "7\n", {"step": 3, "a": 2}]
    )
    assert found == [(1, {"a": 1.0}), (3, {"a": 2.0})]
    assert skipped == {"unread row": 2}


@pytest.mark.parametrize(
    "said",
    [
        {"time": T_NS / 1e9},
        {"_timestamp": T_NS / 1e9},
        {"ts": T_NS // 1_000_000},
        {"time_ns": T_NS},
        {"timestamp": "2026-11-29T19:40:00.500+00:00"},
        {"datetime": "2026-11-29 19:40:00.5"},
    ],
)
def test_a_time_in_any_usual_form_is_the_time_of_the_row(said):
    (found,) = rows_of([{"step": 1, "loss": 2.0} | said])
    assert (found.row.time_ns, found.timed, found.row.values) == (T_NS, True, {"loss": 2.0})


def test_a_duration_is_no_time():
    (found,) = rows_of([{"step": 1, "time": 0.25}])
    assert (found.timed, found.row.values) == (False, {"time": 0.25})


def test_rows_without_a_time_keep_their_order():
    found = rows_of([{"step": 1, "a": 1}, {"step": 0, "a": 1}], time_shift_ns=7)
    assert [one.row.time_ns for one in found] == [SEEN_NS + 7, SEEN_NS + 8]


def test_cells_of_a_sparse_csv_row_are_values():
    found, skipped = read(
        ["0,,49,2.5\r\n", "0,2.25,49,\r\n", '1,nan,99,"1e-3"\r\n', "1,,99,x\r\n", "1,2,3,4,5\r\n"],
        format="csv",
        columns="epoch,val_loss,step,train_loss\r\n",
    )
    assert found[:2] == [
        (49, {"epoch": 0.0, "train_loss": 2.5}),
        (49, {"epoch": 0.0, "val_loss": 2.25}),
    ]
    assert math.isnan(found[2][1]["val_loss"])
    assert found[2][1]["train_loss"] == 0.001
    assert skipped == {"str": 1, "unread row": 1}


def test_a_cell_too_long_for_csv_is_counted():
    _, skipped = read([f"1,{'x' * 200_000}\n"], format="csv", columns="step,a\n")
    assert skipped == {"unread row": 1}


def test_a_row_of_evaluations_is_told_from_training():
    rows = [{"step": 1, "eval_loss": 2.0, "epoch": 1}, {"step": 1, "loss": 2.0, "eval_loss": 2.0}]
    assert [one.evaluation for one in rows_of(rows)] == [True, False]


def test_the_summary_of_a_trainer_is_no_row():
    rows = [
        {"epoch": 1.0, "loss": 0.0, "grad_norm": "NaN", "step": 10},
        {"epoch": 1.0, "train_loss": 2.0, "train_runtime": 9.0, "step": 10},
    ]
    found, skipped = read(rows, format="trainer_state")
    assert [step for step, _ in found] == [10]
    assert skipped == {"run summary": 1}


def test_only_the_wanted_rows_are_read():
    body = parse_body(rows_body([{"step": n, "a": n} for n in range(5)], first=10))
    assert [one.row.step for one in decode(body, [12, 14], Numbers())] == [2, 4]


def test_the_first_time_of_a_row():
    assert first_time_ns(b'{"time": 1795981200.5, "step": 1}') == T_NS
    assert first_time_ns(b'{"step": 1}') is None
    assert first_time_ns(b"x") is None


def test_a_csv_body_without_columns_is_refused():
    with pytest.raises(BadPayload, match="column names"):
        parse_body(rows_body(["1,2\n"], format="csv"))


line = st.text(max_size=40) | st.dictionaries(
    st.sampled_from(["step", "time", "loss", "a\0b", ""]),
    st.floats() | st.integers() | st.text(max_size=5) | st.none() | st.lists(st.integers()),
).map(repr)


@given(st.lists(line), st.sampled_from(["jsonl", "csv", "trainer_state"]), st.text(max_size=30))
def test_any_rows_give_values_or_counts(rows, kind, columns):
    raw = [row.encode("utf-8", "replace").decode() for row in rows]
    found = rows_of(raw, format=kind, columns=columns.replace("\ud800", "") or "step")
    assert all(0 <= one.row.step <= 2**62 and one.row.time_ns >= 0 for one in found)


@given(st.lists(st.tuples(st.integers(0, 2**53), st.floats()), max_size=20), st.data())
def test_a_body_cut_anywhere_gives_the_same_rows(pairs, data):
    rows = [f'{{"step": {step}, "v": {value!r}}}\n' for step, value in pairs]
    rows = [row.replace("inf", "Infinity").replace("nan", "NaN") for row in rows]
    cut = data.draw(st.integers(0, len(rows)))
    parts = [parse_body(rows_body(rows[:cut])), parse_body(rows_body(rows[cut:], first=cut))]
    found = [
        (one.row.step, repr(one.row.values["v"]))
        for part in parts
        for one in decode(
            part, range(part.header.first, part.header.first + len(part.records)), Numbers()
        )
    ]
    assert found == [(step, repr(value)) for step, value in pairs]
