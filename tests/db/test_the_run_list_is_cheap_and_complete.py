"""dashboard.board: a fixed number of statements for all runs, few for each, nothing left out."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.clock import now_ns
from apps.dashboard import board, flight
from apps.incidents import services as incidents
from apps.incidents import store as incident_store
from apps.ingest.digest import digest
from apps.runs import store as runs
from apps.runs.records import PlacementInfo
from tests.factories import envelope, log_body, metric_body
from tests.incident_samples import explosion

LINE = b"2026-11-29 12:00:01.000 [INFO] [rank%d] hello\n"
PRINTED = [log_body(LINE % (4 + at), source=f"a/{at}/stderr.log", local_rank=at) for at in (0, 1)]
SAVED = (
    b'{"attempt":0,"events":['
    b'{"ts":3,"step":30,"path":"p30","files":{".metadata":1,"__0_0.distcp":1}},'
    b'{"ts":4,"step":40,"path":"p40","files":{".metadata":1,"__0_0.distcp":1}},'
    b'{"ts":5,"step":50,"path":"p50","files":{"__0_0.distcp":1}}]}'
)


@pytest.fixture
def made(db, valkey):
    """Makes runs with losses, lines of two ranks and checkpoints; the last is not whole."""

    def make(name):
        run_id = runs.ensure_run(name)
        digest([
            envelope("metrics", metric_body({n: 2.0 - n / 100 for n in range(50)}), run_id=run_id),
            *[envelope("logs", body, run_id=run_id) for body in PRINTED],
            envelope("checkpoints", SAVED, run_id=run_id),
        ])  # fmt: skip
        runs.record_placements(run_id, 0, [PlacementInfo(7, "gpu-a09", 1, None)])
        return run_id

    return make


def statements():
    with CaptureQueriesContext(
        connection,
    ) as asked:
        board.rows()
    return len(asked)


def test_a_run_more_costs_few_statements(made):
    made("r0")
    one = statements()
    [made(f"r{n}") for n in range(1, 6)]
    assert (statements() - one) / 5 <= 12


def test_a_row_says_what_the_run_looks_like(made):
    made("r0")
    (row,), _ = board.rows()
    assert (row.attempt, row.loss, row.speaking) == (0, 1.51, 2)
    assert (row.good.step, row.order, row.incident) == (40, None, None)


def test_a_process_that_never_named_its_rank_is_counted_by_its_place(made):
    run_id = made("r0")
    body = log_body(b"no rank here\n", local_rank=1, node="gpu-a09", source="other/1/stderr.log")
    digest([envelope("logs", body, run_id=run_id)])
    (row,), _ = board.rows()
    assert row.speaking == 3


def test_an_incident_is_shown_however_many_others_wait(made):
    """The page of a run asked for the newest 200 of all runs, and found none of its own."""
    old = made("old")
    incidents.absorb(old, 0, [explosion()], now_ns())
    for n in range(3):
        incidents.absorb(made(f"r{n}"), 0, [explosion()], now_ns())
    few = incident_store.list_incidents
    assert len(few(incident_store.IncidentQuery(limit=10))) == 4
    shown = {row.run.key: row.incident for row in board.rows()[0]}
    assert shown["old"] is not None
    assert flight.flight(runs.get_run("old"), now_ns()).incident == shown["old"]
