"""Real threads on a real Postgres: writing and analysing take the runs' rows in one order."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.db import connection

from apps.core.clock import now_ns
from apps.incidents import store as incidents
from apps.ingest import analyse, digest, store
from apps.runs.store import ensure_run
from tests.factories import envelope, metric_body
from tests.incident_samples import explosion

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def meet(monkeypatch):
    """Where two threads that hold their first locks wait for each other, if both get so far."""
    barrier = threading.Barrier(2, timeout=0.5)

    def wait(*_):
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            return

    return wait


@pytest.fixture
def writers_meet(monkeypatch, meet):
    """Each writer waits for the other one behind its first body."""
    real = digest.PROTOCOLS["metrics"]

    def write(envelope, batch):
        written = real.write(envelope, batch)
        meet()
        return written

    monkeypatch.setitem(digest.PROTOCOLS, "metrics", replace(real, write=write))


def at_once(*works):
    """The results of the works, each in a thread with a connection of its own."""

    def run(work):
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def body(run_id, step):
    return envelope("metrics", metric_body({step: 1.0}), run_id=run_id)


def test_two_groups_with_the_same_runs_in_another_order(writers_meet):
    a, b = ensure_run("a"), ensure_run("b")
    done = at_once(
        lambda: digest.digest([body(a, 1), body(b, 1)]),
        lambda: digest.digest([body(b, 2), body(a, 2)]),
    )
    assert [one.written for one in done] == [2, 2]


def test_the_same_entries_handed_to_two_writers(writers_meet):
    run_id = ensure_run("a")
    group = [body(run_id, step) for step in (1, 2)]
    done = at_once(lambda: digest.digest(group), lambda: digest.digest(group[::-1]))
    assert sorted((one.written, one.duplicates) for one in done) == [(0, 2), (2, 0)]


def test_writing_while_an_incident_is_opened(writers_meet, meet, monkeypatch):
    run_id = ensure_run("a")
    store.mark_written(run_id, [0])
    monkeypatch.setattr(analyse.metrics, "detect", lambda *_: meet() or [explosion()])
    _, written = at_once(
        lambda: analyse.analyse(run_id, 0, now_ns()), lambda: digest.digest([body(run_id, 1)])
    )
    assert (written.written, len(incidents.findings(run_id))) == (1, 1)
