"""workers.writer.loop: deliveries are counted by tries, and only of what was tried."""

from types import SimpleNamespace

import pytest
from django.db import OperationalError

from apps.ingest import stream
from apps.ingest.digest import Digested
from apps.ingest.envelope import pack
from tests.factories import envelope, metric_body
from workers.writer import loop
from workers.writer.loop import Writer, WriterPolicy

POLICY = WriterPolicy(block_ms=1, retry_s=0.0)


@pytest.fixture
def add(valkey):
    stream.make_group()

    def append(step):
        body = metric_body({step: 1.0})
        packed = pack(envelope("metrics", body, run_id=1, batch=str(step)))
        valkey.xadd(stream.STREAM, {"e": packed})

    return append


@pytest.fixture
def parked(monkeypatch):
    """Batch ids that went to quarantine."""
    found = []
    monkeypatch.setattr(loop, "park", lambda entry, error, kept: found.append(kept.batch_id))
    return found


@pytest.fixture
def written(monkeypatch):
    """Batch ids that were written; the one called "0" kills the process."""
    done = []

    def digest(envelopes):
        names = [one.batch_id for one in envelopes]
        if "0" in names:
            raise KeyboardInterrupt
        done.extend(names)
        return Digested()

    monkeypatch.setattr(loop, "digest", digest)
    monkeypatch.setattr(Writer, "analyse_due", lambda self: None)
    return done


def lives(deaths):
    """A writer that is started again after each death, then lives."""
    for work in [Writer("w", POLICY).step] + [Writer("w", POLICY).drain_own] * (deaths - 1):
        with pytest.raises(KeyboardInterrupt):
            work()
    Writer("w", POLICY).drain_own()


def test_the_killer_is_parked_alone(add, parked, written, valkey):
    [add(step) for step in (0, 1, 2)]
    lives(deaths=POLICY.max_deliveries)
    assert (parked, written) == (["0"], ["1", "2"])
    assert valkey.xlen(stream.STREAM) == 0


def test_a_killer_at_the_end_does_not_hold_up_the_others(add, parked, written):
    [add(step) for step in (1, 2, 0)]
    lives(deaths=POLICY.max_deliveries)
    assert (parked, written) == (["0"], ["1", "2"])


def test_an_outage_is_one_delivery_however_long_it_is(add, parked, monkeypatch):
    """Postgres is away when the entry is written, and for twenty looks after that."""
    writer, tries = Writer("w", POLICY), []
    looks = iter([OperationalError("starting up")] * 20)

    def look(*_):
        error = next(looks, None)
        if error:
            raise error

    def digest(envelopes):
        tries.append(next(iter(stream.pending("w", 1).values())))
        if len(tries) == 1:
            raise OperationalError("terminating connection")
        writer.stopping.set()
        return Digested()

    monkeypatch.setattr(loop, "digest", digest)
    monkeypatch.setattr(loop, "connection", SimpleNamespace(close=bool))
    monkeypatch.setattr(loop, "migrations_missing", list)
    monkeypatch.setattr(loop.store, "count", look)
    monkeypatch.setattr(Writer, "analyse_due", lambda self: None)
    add(1)
    writer.run()
    assert (tries, parked) == ([1, 2], [])


def test_a_large_entry_gets_a_transaction_of_its_own(add, valkey, monkeypatch):
    sizes = []
    monkeypatch.setattr(loop, "digest", lambda found: sizes.append(len(found)) or Digested())
    monkeypatch.setattr(Writer, "analyse_due", lambda self: None)
    [add(step) for step in range(5)]
    one = len(valkey.xrange(stream.STREAM, count=1)[0][1][b"e"])
    Writer("w", WriterPolicy(block_ms=1, group_bytes=2 * one)).step()
    Writer("w", WriterPolicy(block_ms=1, group_bytes=1)).step()
    assert sizes == [2, 2, 1]
