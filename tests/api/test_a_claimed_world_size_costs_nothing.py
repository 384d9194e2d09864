"""A sender says how many ranks there are. Pages and answers grow with those that spoke."""

import pytest
from django.utils import timezone

from apps.core.clock import now_ns
from apps.dashboard import board, flight
from apps.dashboard.board import Asked
from apps.rollbacks.account import _missing
from apps.runs import store as runs
from apps.runs.domain.topology import first_missing
from apps.runs.records import PlacementInfo, Progress
from tests import incident_samples
from tests.factories import envelope, log_body

BILLION = 10**9
LINES = b"".join(b"2026-11-29 12:00:01.000 [INFO] [rank5] step %d loss=1.5\n" % n for n in (1, 2))


@pytest.fixture
def run(db, valkey):
    from apps.ingest.digest import digest

    run_id = runs.ensure_run("large")
    digest([envelope("logs", log_body(LINES, local_rank=5), run_id=run_id)])
    runs.record_placements(run_id, 0, [PlacementInfo(7, "gpu-b02", 1, None)])
    runs.note_progress(run_id, 0, Progress(world_size=BILLION), timezone.now())
    return runs.get_run("large")


def test_the_matrix_is_bounded_and_counts_all(run, monkeypatch):
    monkeypatch.setattr(flight, "MAX_CELLS", 10)
    matrix = flight.matrix(run, 0, None, now_ns())
    drawn = [cell.rank for host in matrix.hosts for cell in host.cells]
    assert sorted(drawn) == list(range(10))
    assert (matrix.total, matrix.undrawn, matrix.absent) == (BILLION, BILLION - 10, BILLION - 1)


def test_a_rank_that_spoke_is_drawn_whatever_its_number(run, monkeypatch):
    monkeypatch.setattr(flight, "MAX_CELLS", 2)
    matrix = flight.matrix(run, 0, None, now_ns())
    assert [cell.rank for host in matrix.hosts for cell in host.cells] == [5, 7]


def test_the_answer_names_the_lowest_missing_ranks_and_counts_all(run, ask):
    found = ask("runs/large/ranks").json()
    assert found["missing"][:6] == [0, 1, 2, 3, 4, 6]
    assert (len(found["missing"]), found["missing_count"]) == (10_000, BILLION - 2)


def test_the_page_says_how_many_are_not_drawn(run, operator):
    assert "not drawn 999,980,000" in operator.get("/runs/large/side/").content.decode()


def test_a_placed_rank_that_never_spoke_is_among_the_silent(run):
    said = _missing(run, incident_samples.incident(run_id=run.id, attempt=0), ["gpu-a01"], [])
    assert "No log lines from 999999999 of 1000000000 ranks (0, 1, 2" in " ".join(said)


def test_the_run_list_counts_ranks_that_spoke(run):
    rows = board.board(Asked(), now_ns()).rows
    assert [(row.speaking, row.world_size) for row in rows] == [(1, BILLION)]


@pytest.mark.parametrize(
    ("size", "there", "most", "missing"),
    [
        (0, set(), 5, []),
        (4, {1}, 5, [0, 2, 3]),
        (2**31, {0, 2}, 3, [1, 3, 4]),
        (8, set(), 0, []),
        (8, set(), -3, []),
    ],
)
def test_the_lowest_missing_ranks(size, there, most, missing):
    assert first_missing(size, there, most) == missing
