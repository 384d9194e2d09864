"""ingest.analyse.bring_all_up_to_date: a budget a round, whoever waited longest first."""

import pytest

from apps.core.clock import now_ns
from apps.ingest import analyse, store
from apps.ingest.digest import digest
from apps.ingest.pace import Pace
from apps.runs import store as runs
from tests.factories import envelope, metric_body
from workers.writer.loop import Writer


@pytest.fixture
def run_ids(db, valkey):
    made = [runs.ensure_run(f"r{n}") for n in range(4)]
    digest([envelope("metrics", metric_body({1: 1.0}), run_id=run_id) for run_id in made])
    return made


@pytest.fixture
def clock(monkeypatch):
    """A clock that only analyses move on: 0.3 seconds each, 100 that of the slow run."""

    class Clock:
        now_s, slow, done = 0.0, None, []

        def analyse(self, run_id, attempt, at_ns):
            self.done.append(run_id)
            self.now_s += 100.0 if run_id == self.slow else 0.3
            return real(run_id, attempt, at_ns)

    real, clock = analyse.analyse, Clock()
    clock.done = []
    monkeypatch.setattr(analyse, "analyse", clock.analyse)
    monkeypatch.setattr(analyse.time, "monotonic", lambda: clock.now_s)
    return clock


def new_data(run_ids):
    for run_id in run_ids:
        store.mark_written(run_id, [0])


def test_a_round_ends_when_its_time_is_used_up(run_ids, clock):
    assert analyse.bring_all_up_to_date(analyse.due(now_ns()), Pace(), budget_s=0.5) == 2
    assert len(analyse.due(now_ns())) == 2


def test_the_next_round_begins_with_those_that_waited(run_ids, clock):
    analyse.bring_all_up_to_date(analyse.due(now_ns()), Pace(), budget_s=0.5)
    first = set(clock.done)
    new_data(run_ids)
    analyse.bring_all_up_to_date(analyse.due(now_ns()), Pace(), budget_s=0.5)
    assert set(clock.done[2:]) == set(run_ids) - first


def test_a_slow_run_is_looked_at_and_then_rests(run_ids, clock):
    """Ten rounds with new data of all; the slow one is the first in line."""
    clock.slow, writer = run_ids[0], Writer("w")
    for _ in range(10):
        new_data(run_ids)
        for _ in range(4):
            writer.analyse_due()
    counts = {run_id: clock.done.count(run_id) for run_id in run_ids}
    assert counts[clock.slow] == 1
    assert min(counts[run_id] for run_id in run_ids[1:]) >= 8


def test_one_analysis_is_done_however_small_the_budget(run_ids, clock):
    assert analyse.bring_all_up_to_date(analyse.due(now_ns()), Pace(), budget_s=-1) == 1
