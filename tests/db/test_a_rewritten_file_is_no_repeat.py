"""Rows under the numbers of stored ones: the same rows count once, other rows are another start."""

import pytest

from apps.ingest import store
from apps.ingest.digest import digest
from apps.metrics import store as metrics
from apps.runs import store as runs_store
from tests.factories import envelope
from tests.row_files import SEEN_NS, rows_body

pytestmark = pytest.mark.django_db

S = 1_000_000_000


@pytest.fixture
def run_id():
    return runs_store.ensure_run("r")


def send(run_id, rows, *, later_s=0, **changes):
    body = rows_body(rows, seen_ns=SEEN_NS + later_s * S, **changes)
    digest([envelope("rows", body, run_id=run_id)], quarantine=False)


def losses(run_id, attempt):
    steps, _, values = metrics.read_rows(run_id, attempt, ["loss"])["loss"]
    return list(zip(steps.tolist(), values.tolist(), strict=True))


def row(step, loss=0.0):
    return {"step": step, "loss": loss or step / 8}


def test_a_file_that_begins_anew_with_the_same_row_is_stored_too(run_id):
    """As an agent sends it that lost its state in between."""
    send(run_id, [row(n) for n in range(5)])
    send(run_id, [row(0), *(row(n, 9.0) for n in range(1, 4))], later_s=600)
    assert losses(run_id, 0) == [(n, n / 8) for n in range(5)]
    assert losses(run_id, 1) == [(1, 9.0), (2, 9.0), (3, 9.0)]
    counters = store.counters(run_id)
    assert (counters["replaced_rows"], counters["repeated_lines"]) == (4, 1)


def test_what_comes_again_of_it_is_a_repeat(run_id):
    send(run_id, [row(n) for n in range(5)])
    anew = [row(0), *(row(n, 9.0) for n in range(1, 9))]
    send(run_id, anew[:3], later_s=600)
    send(run_id, anew, later_s=700)
    assert losses(run_id, 1) == [(n, 9.0) for n in range(1, 9)]
    assert store.counters(run_id).get("missing_lines", 0) == 0


def test_a_column_that_was_added_makes_no_row_another_one(run_id):
    csv = {"format": "csv", "file": "metrics.csv"}
    send(run_id, ["1,2.5\n", "2,2.25\n"], columns="step,loss\n", **csv)
    again = [",1,2.5\n", ",2,2.25\r\n", "7,3,2.0\n"]
    send(run_id, again, columns="acc,step,loss\n", **csv)
    assert losses(run_id, 0) == [(1, 2.5), (2, 2.25), (3, 2.0)]
    assert [info.number for info in runs_store.attempts(run_id)] == [0]


def test_a_part_that_begins_behind_shared_rows_misses_none(run_id):
    send(run_id, [row(n) for n in range(5)])
    send(run_id, [row(3, 9.0)], first=3, begins=3, part="1.a", later_s=600)
    assert store.counters(run_id).get("missing_lines", 0) == 0
    assert losses(run_id, 1) == [(3, 9.0)]


def test_a_gap_behind_the_place_where_a_file_differs_is_forgotten(run_id):
    send(run_id, [row(0)])
    send(run_id, [row(n) for n in range(6, 9)], first=6)
    assert store.counters(run_id)["missing_lines"] == 5
    send(run_id, [row(n, 9.0) for n in range(9)], later_s=600)
    assert store.counters(run_id).get("missing_lines", 0) == 0
