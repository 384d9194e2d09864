"""The body of POST /api/v1/runs/{key}/wandb: header line, then records."""

import pytest

from apps.core.errors import BadPayload
from apps.ingest.wandb.parse import WandbBody, parse_body
from tests.wandb_records import body


def test_a_good_body_is_opened():
    sent = body([b"abc", b"", b"de"], attempt=2, node="gpu-a01", first_record=9, time_shift_ns=-4)

    assert parse_body(sent) == WandbBody(2, "run-x.wandb", "gpu-a01", 9, -4, (b"abc", b"", b"de"))


def test_node_and_time_shift_may_be_left_out():
    opened = parse_body(body([]))

    assert (opened.node, opened.time_shift_ns, opened.records) == (None, 0, ())


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "header line: is not JSON"),
        (b"\xff\xfe\n", "header line: is not JSON"),
        (b"[1]\n", "header line: must be one line of JSON"),
        (b'{"v":1}', "header line: must be one line of JSON"),
        (body([b"a"], v=2), "header line: must be one line of JSON"),
        (body([b"a"], lengths=[2]), "lengths: add up to 2 bytes, but 1 follow"),
        (body([b"a"], lengths=[-1, 2]), "lengths: must be a list of byte counts"),
        (body([b"a"], lengths=[True]), "lengths: must be a list of byte counts"),
        (body([b"a"], lengths="1"), "lengths: must be a list of byte counts"),
        (body([b"a"], attempt=None), "attempt: must be a whole number, got None"),
        (body([b"a"], attempt=-1), "attempt: must be a whole number, got -1"),
        (body([b"a"], first_record="x"), "first_record: must be a whole number, got 'x'"),
        (body([b"a"], time_shift_ns=1.5), "time_shift_ns: must be a whole number, got 1.5"),
        (body([b"a"], file=""), "file: must be a text of 1 to 500 characters, got ''"),
        (body([b"a"], node=5), "node: must be a text of 1 to 500 characters, got 5"),
    ],
)
def test_a_bad_body_says_where(sent, message):
    with pytest.raises(BadPayload) as caught:
        parse_body(sent)

    assert str(caught.value).startswith(message)
