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
        (b"", "body: no header line"),
        (b"\xff\xfe\n", "header: "),
        (b"[1]\n", "header: Expected `object`, got `array`"),
        (b'{"v":1}\n', "header: Object missing required field `attempt`"),
        (body([b"a"], v=2), "header.v: Invalid enum value 2"),
        (body([b"a"], lengths=[2]), "header.lengths: add up to 2 bytes, the body holds 1"),
        (body([b"a"], lengths=[-1, 2]), "header.lengths[0]: Expected `int` >= 0"),
        (body([b"a"], lengths=[True]), "header.lengths[0]: Expected `int`, got `bool`"),
        (body([b"a"], lengths="1"), "header.lengths: Expected `array`, got `str`"),
        (body([b"a"], attempt=None), "header.attempt: Expected `int`, got `null`"),
        (body([b"a"], attempt=-1), "header.attempt: Expected `int` >= 0"),
        (body([b"a"], first_record="x"), "header.first_record: Expected `int`, got `str`"),
        (body([b"a"], time_shift_ns=1.5), "header.time_shift_ns: Expected `int`, got `float`"),
        (body([b"a"], file=""), "header.file: Expected `str` of length >= 1"),
        (body([b"a"], node=5), "header.node: Expected `str | null`, got `int`"),
    ],
)
def test_a_bad_body_says_where(sent, message):
    with pytest.raises(BadPayload) as caught:
        parse_body(sent)

    assert str(caught.value).startswith(message)
