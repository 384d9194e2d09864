"""Joined bodies: fewer statements, each once, and a bad one takes no other with it."""

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from msgspec.structs import replace

from apps.ingest import store, stream
from apps.ingest.digest import digest
from apps.ingest.envelope import pack
from apps.ingest.wandb.lines import HISTORY
from apps.metrics.store import read_rows
from apps.runs import store as runs
from tests import factories
from workers.writer import loop
from workers.writer.loop import Writer, WriterPolicy

T0_S = 1_795_981_200


@pytest.fixture
def run(db):
    run_id = runs.ensure_run("r")
    runs.open_attempt(run_id, 0, factories.T0_NS)
    return run_id


def body(run, offset, count=2, batch=None):
    lines = [
        orjson.dumps({"_step": n, "_timestamp": T0_S + n, "loss": n}).decode()
        for n in range(offset, offset + count)
    ]
    data = orjson.dumps({"files": {HISTORY: {"offset": offset, "content": lines}}})
    found = factories.envelope("file_stream", data, run_id=run, batch=batch or f"b{offset}")
    return replace(found, attempt=0)


def steps(run):
    return read_rows(run, 0, ["loss"], 0, 1000)["loss"][0].tolist()


def test_bodies_that_follow_each_other_cost_the_statements_of_one(run):
    with CaptureQueriesContext(connection) as one:
        digest([body(run, 0)])
    with CaptureQueriesContext(connection) as five:
        done = digest([body(run, offset) for offset in range(2, 12, 2)])
    assert len(five) <= len(one)
    assert (done.written, steps(run)) == (5, list(range(12)))


def test_bodies_of_several_runs_that_alternate_are_joined_run_by_run(run):
    other = runs.ensure_run("other")
    runs.open_attempt(other, 0, factories.T0_NS)
    with CaptureQueriesContext(connection) as two:
        digest([body(run, 0), body(other, 0)])
    waiting = [body(run_id, offset) for offset in (2, 4, 6) for run_id in (run, other)]
    with CaptureQueriesContext(connection) as six:
        digest(waiting)
    assert len(six) <= len(two)
    assert (steps(run), steps(other)) == (list(range(8)), list(range(8)))


def test_a_body_that_was_written_before_adds_nothing(run):
    digest([body(run, 0)])
    done = digest([body(run, 0), body(run, 2), body(run, 4)])
    assert (done.written, done.duplicates, steps(run)) == (2, 1, [0, 1, 2, 3, 4, 5])
    assert store.counters(run)["duplicate_batches"] == 1


def test_only_what_is_wrong_goes_to_quarantine(run, monkeypatch):
    digest([body(run, 0)])
    bad = replace(body(run, 0, batch="bad"), body=body(run, 0).body.replace(b"12", b"13"))
    done = digest([bad, body(run, 2), body(run, 4)])
    assert (done.written, done.quarantined, steps(run)) == (2, 1, [0, 1, 2, 3, 4, 5])


def test_a_full_stream_is_read_a_few_bodies_at_a_time(run, settings, valkey, monkeypatch):
    settings.INGEST_MAX_BODY_BYTES = 500
    monkeypatch.setattr(loop, "ENVELOPE_BYTES", 0)
    limits = stream.AppendLimits(1 << 30, 99, 1 << 30)
    for offset in range(0, 40, 2):
        data = pack(body(run, offset))
        stream.append([data], sender="t", now_s=1, limits=limits)
    stream.make_group()
    writer = Writer("w0", WriterPolicy(read_bytes=1, block_ms=1))
    handled = [writer.step() for _ in range(20)]
    assert sum(handled) == 20
    assert 1 <= max(handled) < 20
    assert steps(run) == list(range(40))
