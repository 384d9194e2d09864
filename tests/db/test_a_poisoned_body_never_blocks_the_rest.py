"""Quarantine: the bytes and the reason are kept, the neighbours are written."""

import gzip

import pytest
import zstandard

from apps.ingest import store, stream
from apps.ingest.digest import digest
from apps.ingest.envelope import pack
from apps.runs.store import ensure_run
from tests.factories import envelope, log_body, metric_body
from workers.writer.loop import Writer, WriterPolicy


@pytest.fixture
def run_id(db):
    return ensure_run("r")


BAD = [
    ("metrics", b"\xff\xfe garbage", "identity", "body"),
    ("metrics", gzip.compress(b"\0" * (64 << 20)), "gzip", "body"),
    ("logs", zstandard.compress(b"no header"), "zstd", "body"),
    ("logs", log_body(b"one line\n")[:-3], "identity", "segments[].bytes"),
    ("wandb", b"{}\n", "identity", "header"),
    ("checkpoints", b'{"events":[{"step":1}]}', "identity", "events[0]"),
    ("nodes", b"[]", "identity", "body"),
    ("unknown", b"x", "identity", "envelope.endpoint"),
]


@pytest.mark.parametrize(("endpoint", "body", "encoding", "where"), BAD)
def test_the_reason_names_the_place(run_id, endpoint, body, encoding, where):
    digest([envelope(endpoint, body, run_id=run_id, encoding=encoding)])
    (kept,) = store.quarantined(10)
    assert (kept.where, kept.body_bytes) == (where, len(body))
    assert kept.reason
    assert store.quarantined_body(kept.id) == (encoding, body)


def test_the_neighbours_are_written(run_id):
    good = [envelope("metrics", metric_body({n: 1.0}), run_id=run_id) for n in (1, 2)]
    bad = envelope("metrics", b"garbage", run_id=run_id)
    result = digest([good[0], bad, good[1]])
    assert (result.written, result.quarantined) == (2, 1)


def test_a_body_that_breaks_the_database_is_kept_alone(run_id, monkeypatch):
    from apps.ingest import writes

    def fail(*args):
        raise ValueError("cannot be written")

    good = envelope("metrics", metric_body({1: 1.0}), run_id=run_id)
    monkeypatch.setattr(writes, "record_checkpoints", fail)
    bad = envelope(
        "checkpoints", b'{"events":[{"ts":1,"step":1,"path":"p","files":{}}]}', run_id=run_id
    )
    result = digest([bad, good])
    assert (result.written, result.quarantined) == (1, 1)
    assert "cannot be written" in store.quarantined(1)[0].reason


def test_an_entry_that_is_no_envelope_leaves_the_stream(run_id, valkey):
    stream.make_group()
    valkey.xadd(stream.STREAM, {"e": b"\xc1 not msgpack"})
    good = envelope("metrics", metric_body({1: 1.0}), run_id=run_id)
    valkey.xadd(stream.STREAM, {"e": pack(good)})
    Writer("w", WriterPolicy(block_ms=1)).step()
    assert valkey.xlen(stream.STREAM) == 0
    assert store.counters(run_id)["points"] == 1
    assert store.quarantined(10)[0].where == "stream entry"


def test_an_entry_that_kills_writers_is_parked(run_id, valkey):
    entry = stream.Entry("1-0", pack(envelope("metrics", metric_body({1: 1.0}), run_id=run_id)), 9)
    Writer("w").handle([entry])
    assert "handed out 9 times" in store.quarantined(1)[0].reason
    assert store.counters(run_id) == {"quarantined": 1}


def test_the_status_of_the_run_counts_it(run_id, valkey):
    from apps.ingest.services import status

    digest([envelope("metrics", b"garbage", run_id=run_id)])
    assert status(run_id).quarantined == 1
