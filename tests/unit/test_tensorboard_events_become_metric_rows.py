"""ingest.tensorboard.parse"""

import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.core.records import MetricRow
from apps.ingest.tensorboard.descriptor import MESSAGES
from apps.ingest.tensorboard.parse import decode, parse_body
from apps.ingest.tensorboard.wire import read_records
from tests.event_files import T0_S, goes_on, sample, scalar, version

S = 1_000_000_000


@pytest.fixture(scope="module")
def written():
    """What a real tensorboard writer wrote."""
    return decode(read_records(sample("tensorboard").read_bytes()).records, now_ns=1)


def test_scalars_of_one_step_are_one_row(written):
    row = written.rows[0]
    assert row == MetricRow(0, T0_S * S + S // 4, {"train/loss": 2.5, "train/grad_norm": 0.5}, None)


def test_non_finite_values_are_values(written):
    assert math.isnan(written.rows[2].values["train/loss"])
    assert written.rows[3].values["train/loss"] == math.inf


def test_scalar_tensors_of_every_number_type_are_values(written):
    assert written.rows[5].values == {
        "tensor/float": 1.5,
        "tensor/double": 0.1,
        "tensor/half": 0.5,
        "tensor/bfloat16": 1.5,
        "tensor/int32": -7.0,
        "tensor/int64": float(1 << 40),
        "tensor/uint8": 200.0,
        "tensor/bool": 1.0,
        "tensor/raw": 0.25,
    }


def test_a_histogram_becomes_its_figures(written):
    found = written.rows[6].values
    assert found == {
        "grads/mean": 0.5,
        "grads/std": 3.5,
        "grads/rms": pytest.approx(math.sqrt(12.5)),
        "grads/max_abs": 4.0,
        "grads/norm": 5.0,
    }


def test_what_is_no_number_is_counted(written):
    assert written.skipped == {"text": 1, "image": 1, "other axis": 1}


def test_hparams_are_the_configuration(written):
    assert written.config == {"lr": 0.0, "optimizer": "adamw", "fused": True}


def test_a_writer_that_goes_on_says_from_which_step():
    found = decode(read_records(sample("tensorboardX").read_bytes()).records, now_ns=1)
    assert found.resumed is not None
    assert found.resumed[0] == 100
    assert decode([version(), goes_on(7, at_s=3)], now_ns=1).resumed == (7, (T0_S + 3) * S)


def test_a_name_logged_twice_at_a_step_is_two_rows():
    rows = decode([scalar(3, 1.0), scalar(3, 2.0)], now_ns=1).rows
    assert [row.values["train/loss"] for row in rows] == [1.0, 2.0]


def test_a_folder_of_its_own_stands_before_the_tag():
    (row,) = decode([scalar(3, 1.0, tag="loss")], now_ns=1, under="validation").rows
    assert row.values == {"validation/loss": 1.0}


def test_a_shift_moves_every_time():
    (row,) = decode([scalar(3, 1.0)], now_ns=1, shift_ns=5).rows
    assert row.time_ns == (T0_S + 3) * S + 5


def test_a_plugin_of_unknown_name_gets_no_counter_of_its_own():
    metadata = MESSAGES["Metadata"](plugin=MESSAGES["PluginData"](name=b"mine"))
    value = MESSAGES["Value"](tag=b"x", tensor=MESSAGES["Tensor"](dtype=7), metadata=metadata)
    event = MESSAGES["Event"](step=1, summary=MESSAGES["Summary"](value=[value]))
    assert decode([event.SerializeToString()], now_ns=1).skipped == {"tensor": 1}


def test_a_record_that_cannot_be_read_is_counted():
    found = decode([b"", b"\xff\xff", scalar(1, 1.0), scalar(-1, 1.0)], now_ns=1)
    assert len(found.rows) == 1
    assert found.skipped == {"unread record": 2, "row without a step": 1}


@given(st.lists(st.binary(max_size=80)))
def test_any_records_give_rows_or_counts(records):
    found = decode(records, now_ns=1)
    assert all(0 <= row.step <= 2**62 for row in found.rows)


def body(records, **changes):
    header = {
        "v": 1, "attempt": 0, "file": "x", "part": "0", "first": 3,
        "lengths": [len(record) for record in records],
    } | changes  # fmt: skip
    return orjson.dumps(header) + b"\n" + b"".join(records)


def test_a_body_gives_back_its_records():
    opened = parse_body(body([version(), scalar(1, 1.0)], under="eval"))
    assert opened.records == (version(), scalar(1, 1.0))
    assert (opened.header.first, opened.header.under) == (3, "eval")


@pytest.mark.parametrize(
    ("changes", "where"),
    [({"lengths": [1]}, "header.lengths"), ({"first": -1}, "header.first"), ({"part": ""}, "part")],
)
def test_a_malformed_body_names_its_field(changes, where):
    with pytest.raises(BadPayload) as error:
        parse_body(body([scalar(1, 1.0)], **changes))
    assert where in error.value.where


@given(st.binary(max_size=200))
def test_any_body_is_opened_or_refused(junk):
    try:
        parse_body(junk)
    except BadPayload:
        return
