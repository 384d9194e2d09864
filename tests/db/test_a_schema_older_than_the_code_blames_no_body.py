"""Code that is newer than the schema: bodies wait for `migrate`, none goes to quarantine."""

import psycopg
import pytest
from django.db import ProgrammingError, connection

from apps.core.database import is_trouble
from apps.ingest import store, stream, writes
from apps.ingest.digest import digest
from apps.ingest.envelope import pack
from apps.runs.store import ensure_run
from tests.factories import envelope, metric_body
from workers.writer import loop
from workers.writer.loop import Writer, WriterPolicy

OLDER = [
    "ALTER TABLE ingest_batch RENAME COLUMN written_at TO older",
    "ALTER TABLE ingest_counter DROP CONSTRAINT ingest_counter_pkey",
    "ALTER TABLE metrics_serieskey RENAME TO older",
    "ALTER TABLE metrics_hotblock RENAME TO older",
    "ALTER TABLE metrics_hotblock RENAME COLUMN attempt TO older",
]


def body(run_id):
    return envelope("metrics", metric_body({1: 1.0}), run_id=run_id)


@pytest.fixture
def run_id(db):
    return ensure_run("r")


@pytest.fixture
def alter(db):
    def run(sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)

    return run


@pytest.mark.parametrize("sql", OLDER)
def test_a_body_waits_for_the_schema(run_id, alter, sql):
    alter(sql)
    with pytest.raises(ProgrammingError) as caught:
        digest([body(run_id)])
    assert is_trouble(caught.value)
    assert store.quarantined(10) == []


def test_a_sender_that_waits_for_the_commit_is_told_to_come_back(
    run_id, alter, client, token, settings
):
    settings.INGEST_ACK = "commit"
    alter(OLDER[0])
    answer = client.post(
        "/api/v1/runs/r/metrics",
        metric_body({1: 1.0}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")


def test_a_server_that_ends_a_copy_blames_no_body(run_id, monkeypatch):
    """A full disk, say. Django leaves the errors of COPY as they are."""

    def full(*args):
        raise psycopg.errors.DiskFull("no space left on device")

    monkeypatch.setattr(psycopg.Copy, "write_row", full)
    with pytest.raises(Exception, match="no space left") as caught:
        digest([body(run_id)])
    assert is_trouble(caught.value)
    assert store.quarantined(10) == []


@pytest.mark.parametrize("state", ["22003", "22P02", "23505", "42601", "42804"])
def test_what_a_value_or_a_fault_causes_is_not_the_schema(run_id, monkeypatch, state):
    def fail(*args):
        cause = psycopg.errors.lookup(state)("odd")
        raise ProgrammingError("odd") from cause

    monkeypatch.setattr(writes, "record_checkpoints", fail)
    odd = b'{"events":[{"ts":1,"step":1,"path":"p","files":{}}]}'
    result = digest([envelope("checkpoints", odd, run_id=run_id), body(run_id)])
    assert (result.written, result.quarantined) == (1, 1)


def test_the_consumer_waits_until_the_schema_is_migrated(run_id, valkey, alter, monkeypatch):
    """However long that takes, the body is tried once before and once after."""
    alter(OLDER[0])
    writer = Writer("w", WriterPolicy(block_ms=1, retry_s=0.0))
    looks = []

    def missing():
        looks.append(1)
        if len(looks) == 20:
            alter("ALTER TABLE ingest_batch RENAME COLUMN older TO written_at")
        return [] if len(looks) >= 20 else ["ingest.0009_next"]

    def analysed(self):
        self.stopping.set()

    monkeypatch.setattr(loop, "migrations_missing", missing)
    monkeypatch.setattr(connection, "close", lambda: None)
    monkeypatch.setattr(Writer, "analyse_due", analysed)
    stream.make_group()
    valkey.xadd(stream.STREAM, {"e": pack(body(run_id))})
    writer.run()
    assert store.counters(run_id)["points"] == 1
    assert store.quarantined(10) == []
    assert store.counters(0) == {"server_outages": 1}
