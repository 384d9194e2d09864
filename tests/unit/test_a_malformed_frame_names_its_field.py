"""ingest.frames and the parsers on it: the path of what is wrong, and nothing half read."""

import base64

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest import frames
from apps.ingest.checkpoints.parse import parse as parse_checkpoints
from apps.ingest.logs.parse import parse as parse_logs
from apps.ingest.nodes.parse import parse as parse_nodes
from tests.factories import log_body

SAVED = {"ts": 10.5, "step": 7, "path": "/ckpt/7", "files": {"a": 1}}
XID = {"node": "gpu-b02", "time_ns": 5, "kind": "xid", "message": "Xid 79"}


class Header(msgspec.Struct):
    n: int


def checkpoints(**changed):
    return orjson.dumps({"events": [SAVED, SAVED | changed]})


def nodes(**changed):
    return orjson.dumps({"events": [XID | changed]})


def segment(**changed):
    header, _, rest = log_body(b"line\n").partition(b"\n")
    fields = orjson.loads(header)
    fields["segments"][0] |= changed
    return orjson.dumps(fields) + b"\n" + rest


@pytest.mark.parametrize(
    ("parse", "body", "where"),
    [
        (parse_logs, b"{}", "body"),
        (parse_logs, b"{\n", "header"),
        (parse_logs, b"{}\n", "header"),
        (parse_logs, log_body(b"", attempt=-1), "header.attempt"),
        (parse_logs, log_body(b"", node=""), "header.node"),
        (parse_logs, log_body(b"", node="a\0"), "header.node"),
        (parse_logs, segment(offset=-1), "header.segments[0].offset"),
        (parse_logs, segment(bytes="5"), "header.segments[0].bytes"),
        (parse_logs, segment(bytes=4), "segments[].bytes"),
        (parse_checkpoints, b"[" * 100_000, "body"),
        (parse_checkpoints, checkpoints(step=-1), "events[1].step"),
        (parse_checkpoints, checkpoints(path=""), "events[1].path"),
        (parse_checkpoints, checkpoints(ts=4e9), "events[1].ts"),
        (parse_checkpoints, checkpoints(files={"a": -1}), "events[1].files[...]"),
        (parse_checkpoints, checkpoints(metadata_b64="*"), "events[1].metadata_b64"),
        (parse_checkpoints, orjson.dumps({"events": [SAVED] * 10_001}), "events"),
        (parse_nodes, nodes(time_ns=None), "events[0].time_ns"),
        (parse_nodes, nodes(node="n" * 256), "events[0].node"),
    ],
)
def test_the_place_is_named(parse, body, where):
    with pytest.raises(BadPayload) as caught:
        parse(body)
    assert (caught.value.where, bool(caught.value.message)) == (where, True)


def test_a_header_line_has_a_bound(monkeypatch):
    monkeypatch.setattr(frames, "MAX_HEADER_BYTES", 5)
    with pytest.raises(BadPayload, match="no header line"):
        frames.split(b'{"n": 1}\n', Header)


def test_fields_of_newer_senders_are_ignored():
    header, rest = frames.split(b'{"n": 1, "more": [2]}\nabc', Header)
    assert (header.n, bytes(rest)) == (1, b"abc")


@given(pieces=st.lists(st.binary(max_size=50), max_size=8))
def test_pieces_come_back_as_they_were(pieces):
    whole = memoryview(b"".join(pieces))
    assert frames.cut(whole, [len(piece) for piece in pieces], "lengths") == pieces


def test_times_are_shifted_and_metadata_is_unpacked():
    body = orjson.dumps(
        {
            "time_shift_ns": 3,
            "events": [SAVED | {"metadata_b64": base64.b64encode(b"meta").decode()}],
        }
    )
    (seen,) = parse_checkpoints(body).events
    assert (seen.saved_at_ns, seen.metadata) == (10_500_000_003, b"meta")


def test_words_of_a_node_event_fit_their_columns():
    long = nodes(kind="k" * 99, severity="s" * 99, device="d" * 999, message="\0")
    (event,) = parse_nodes(long).events
    assert (len(event.kind), len(event.severity), len(event.device)) == (64, 16, 128)
    assert event.message == "\ufffd"
