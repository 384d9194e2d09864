"""ingest.metrics.parse"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.metrics.parse import parse


@pytest.mark.parametrize(
    ("token", "check"),
    [
        ("NaN", math.isnan),
        ('"NaN"', math.isnan),
        ("Infinity", lambda v: v == math.inf),
        ('"-Infinity"', lambda v: v == -math.inf),
        ("1e308", lambda v: v == 1e308),
        ("1e999", lambda v: v == math.inf),
        ("true", lambda v: v == 1.0),
    ],
)
def test_a_value_is_kept_as_what_it_is(token, check):
    body = b'{"rows":[{"step":1,"time_ns":5,"values":{"loss":' + token.encode() + b"}}]}"
    (row,) = parse(body, received_ns=0).rows
    assert check(row.values["loss"])


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "body"),
        (b"[]", "rows"),
        (b'{"rows":1}', "rows"),
        (b'{"rows":[1]}', "rows[0]"),
        (b'{"rows":[{"step":-1}]}', "rows[0].step"),
        (b'{"rows":[{"step":true}]}', "rows[0].step"),
        (b'{"rows":[{"step":1.5}]}', "rows[0].step"),
        (b'{"rows":[{"step":1,"time_ns":"x"}]}', "rows[0].time_ns"),
        (b'{"rows":[{"step":1,"values":{"a":"x"}}]}', "rows[0].values['a']"),
        (b'{"rows":[{"step":1,"values":{"":1}}]}', "rows[0].values"),
        (b'{"attempt":"0","rows":[]}', "attempt"),
    ],
)
def test_the_error_names_the_place(body, where):
    with pytest.raises(BadPayload) as caught:
        parse(body, received_ns=0)
    assert caught.value.where == where


def test_a_row_without_a_time_gets_the_time_of_receipt():
    (row,) = parse(b'{"rows":[{"step":1,"values":{}}]}', received_ns=77).rows
    assert row.time_ns == 77


@given(st.binary(max_size=200))
def test_garbage_raises_nothing_else(body):
    try:
        parse(body, received_ns=0)
    except BadPayload:
        pass
