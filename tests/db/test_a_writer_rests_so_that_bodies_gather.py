"""workers.writer.loop: a short pause after a round, unless more waits already."""

import threading

import pytest

from apps.ingest import stream
from apps.ingest.envelope import pack
from apps.metrics.store import read_rows
from apps.runs import store as runs
from tests.factories import envelope, metric_body
from workers.writer import loop
from workers.writer.loop import Writer, WriterPolicy


@pytest.fixture
def run(db, valkey):
    return runs.ensure_run("r")


class Rests(threading.Event):
    """Runs what is to happen in each rest; the writer stops when there is nothing left."""

    def __init__(self, events):
        super().__init__()
        self.events, self.lengths_s = list(events), []

    def wait(self, timeout=None):
        self.lengths_s.append(timeout)
        if not self.events:
            self.set()
        for happens in self.events[:1]:
            happens()
        del self.events[:1]
        return self.is_set()


def send(run, *steps):
    for step in steps:
        data = pack(envelope("metrics", metric_body({step: 1.0}), run_id=run))
        stream.append([data], sender="t", now_s=1, limits=stream.AppendLimits(1 << 30, 99, 1 << 30))


def work(monkeypatch, policy, *events):
    """How many bodies each round wrote, and the rests."""
    sizes, digest = [], loop.digest
    monkeypatch.setattr(loop, "digest", lambda some: sizes.append(len(some)) or digest(some))
    writer = Writer("w0", policy)
    writer.stopping = rests = Rests(events)
    writer.run()
    return sizes, rests.lengths_s


def test_what_comes_during_the_rest_is_written_together(run, monkeypatch):
    send(run, 1)
    policy = WriterPolicy(block_ms=1, rest_s=0.2)
    sizes, rests = work(monkeypatch, policy, lambda: send(run, 2, 3, 4))
    assert (sizes, rests) == ([1, 3], [0.2, 0.2])
    assert read_rows(run, 0, ["train/loss"], 0, 9)["train/loss"][0].tolist() == [1, 2, 3, 4]


def test_a_writer_that_is_behind_does_not_rest(run, monkeypatch):
    send(run, 1, 2, 3)
    sizes, rests = work(monkeypatch, WriterPolicy(count=2, block_ms=1))
    assert (sizes, len(rests)) == ([2, 1], 1)


def test_nor_does_one_whose_rounds_are_cut_by_memory(run, monkeypatch, settings):
    settings.INGEST_MAX_BODY_BYTES = 1
    send(run, *range(40))
    bytes_held = stream.held_bytes()
    policy = WriterPolicy(block_ms=1, read_bytes=1, rest_bytes=bytes_held // 40)
    sizes, rests = work(monkeypatch, policy)
    assert len(sizes) > 1
    assert (sum(sizes), len(rests)) == (40, 1)
