"""The parsers of ingest.loki and ingest.otlp, ingest.pushed and ingest.snappy: limits come first"""

import json
import tracemalloc

import cramjam
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest import protobuf, pushed
from apps.ingest.labels import DEFAULT
from apps.ingest.loki import parse as loki
from apps.ingest.otlp import parse as otlp
from apps.ingest.pushed import Defaults, sort
from apps.ingest.snappy import unsnap
from tests.pushes import (
    T0_NS,
    any_value,
    field,
    loki_entry,
    loki_json,
    loki_push,
    otlp_record,
    otlp_request,
    snapped,
    varint,
)  # fmt: skip

PARSERS = (loki.parse_json, loki.parse_protobuf, otlp.parse_json, otlp.parse_protobuf)
HERE = Defaults("r", "", "test")


def read(parse, body):
    """(lines, refused) of a body, or None if it cannot be read."""
    try:
        found = sort(parse(body), DEFAULT, HERE)
    except BadPayload:
        return None
    return found.accepted(), sum(found.refused.values())


@pytest.mark.parametrize("parse", PARSERS)
@given(body=st.binary())
@example(b"[" * 10_000)
@example(b'{"streams":[' + b"[" * 10_000)
def test_any_bytes_are_read_or_refused(parse, body):
    read(parse, body)


_SHORT = st.text(max_size=5)


def nested(inner):
    return st.lists(inner, max_size=3) | st.dictionaries(_SHORT, inner, max_size=3)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _SHORT,
    nested,
    max_leaves=8,
)
_ANY = st.recursive(
    st.booleans() | st.integers(0, 2**63 - 1) | st.floats() | _SHORT | st.binary(max_size=5),
    nested,
    max_leaves=8,
)


@given(st.lists(_JSON, max_size=4))
def test_every_value_of_a_push_is_taken_or_refused(values):
    good = [str(T0_NS), "x"]
    found = read(loki.parse_json, loki_json(({"a": "b"}, [*values, good])))
    assert found is not None
    assert sum(found) == len(values) + 1


@given(_ANY)
def test_every_kind_of_body_is_a_line(body):
    assert read(otlp.parse_protobuf, otlp_request({}, otlp_record(body))) == (1, 0)


def test_a_body_of_depth_is_cut_not_followed():
    deep = any_value("end")
    for _ in range(20):
        deep = field(5, field(1, deep))
    record = field(5, deep)
    (stream,) = otlp.parse_protobuf(otlp_request({}, record)).streams
    assert "…" in stream.records[0].text


def test_a_body_too_deep_for_protobuf_is_refused():
    deep = any_value("end")
    for _ in range(500):
        deep = field(5, field(1, deep))
    assert read(otlp.parse_protobuf, otlp_request({}, field(5, deep))) is None


def test_empty_messages_without_number_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(protobuf, "MAX_NOTHINGS", 1_000)
    for parse, nothing in ((loki.parse_protobuf, b"\x12\x00"), (otlp.parse_protobuf, b"\x12\x00")):
        with pytest.raises(BadPayload, match="empty messages"):
            parse(field(1, nothing * 2_000))


@pytest.mark.parametrize(("most", "what"), [
    ("MAX_STREAMS", "streams"), ("MAX_RECORDS", "lines"), ("MAX_RUNS", "runs"),
])  # fmt: skip
def test_too_much_of_anything_is_refused_whole(monkeypatch, most, what):
    monkeypatch.setattr(pushed, most, 1)
    body = loki_json(*(({"run": f"r{n}"}, [[str(T0_NS), "x"]]) for n in range(2)))
    with pytest.raises(BadPayload, match=f"more than 1 {what}"):
        sort(loki.parse_json(body), DEFAULT, HERE)


@pytest.mark.parametrize("labels", [
    {f"l{n}": "x" for n in range(pushed.MAX_LABELS + 1)},
    {"a" * (pushed.MAX_NAME + 1): "x"}, {"a": "x" * (pushed.MAX_VALUE + 1)},
])  # fmt: skip
def test_too_many_or_long_labels_refuse_only_their_lines(labels):
    fine = [str(T0_NS), "x"]
    streams = loki_json((labels, [fine, fine]), ({"a": "b"}, [fine, [*fine, labels]]))
    assert read(loki.parse_json, streams) == (1, 3)


@given(st.binary())
def test_any_block_of_snappy_is_read_or_refused(body):
    try:
        assert len(unsnap(body, 10_000)) <= 10_000
    except BadPayload:
        pass
    assert unsnap(snapped(body), max(1, len(body))) == body


def test_a_block_that_claims_too_much_allocates_nothing():
    tracemalloc.start()
    for size in (10**6, 2**31, 2**32 - 1):
        with pytest.raises(BadPayload):
            unsnap(varint(size) + b"\x00" * 40, 16 << 20)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_a_snappy_bomb_is_refused_by_its_header():
    bomb = bytes(cramjam.snappy.compress_raw(bytes(17 << 20)))
    with pytest.raises(BadPayload, match="inflates beyond"):
        unsnap(bomb, 16 << 20)


@pytest.mark.parametrize(("text", "labels"), [
    ("{}", {}), ('{a="b"}', {"a": "b"}), (' { a = "b" , c="d", } ', {"a": "b", "c": "d"}),
    (r'{a="q\"\\\n\x41\u0042\103"}', {"a": 'q"\\\nABC'}), ("{a=`raw\\n`}", {"a": "raw\\n"}),
    ('{a="x,y}"}', {"a": "x,y}"}), ('{k8s.pod="x"}', {"k8s.pod": "x"}),
])  # fmt: skip
def test_labels_as_prometheus_writes_them(text, labels):
    assert loki.read_labels(text) == labels


@pytest.mark.parametrize("text", ["", "a", '{a="b"', "{a=b}", '{"a"="b"}', '{a="b" c="d"}', "{a}"])
def test_labels_that_are_none_refuse_only_their_stream(text):
    body = loki_push((text, [loki_entry("x")]), ('{a="b"}', [loki_entry("y")]))
    assert read(loki.parse_protobuf, body) == (1, 1)


def test_both_forms_of_a_push_say_the_same():
    entries = [(f"line {n}", T0_NS + n) for n in range(3)]
    from_json = loki.parse_json(
        json.dumps({"streams": [{"stream": {"a": "b"}, "values": [
            [str(at), text, {"m": "1"}] for text, at in entries]}]}).encode()
    )  # fmt: skip
    made = [loki_entry(text, at, m="1") for text, at in entries]
    assert loki.parse_protobuf(loki_push(('{a="b"}', made))) == from_json
