"""dashboard.board: a fixed number of statements for all runs, few for each, nothing left out."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from msgspec.structs import replace

from apps.core.clock import now_ns
from apps.dashboard import board, flight
from apps.dashboard.board import Asked
from apps.incidents import services as incidents
from apps.incidents import store as incident_store
from apps.ingest.digest import digest
from apps.metrics import glances
from apps.metrics import store as metrics
from apps.runs import contact_store
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
    with CaptureQueriesContext(connection) as asked:
        shown()
    return len(asked)


def shown(**asked):
    """The lines of the first page."""
    return board.board(Asked(**asked), now_ns()).rows


def test_a_run_more_costs_no_statement(made):
    [made(f"r{n}") for n in range(2)]
    glances.refresh()
    few = statements()
    [made(f"r{n}") for n in range(2, 6)]
    glances.refresh()
    assert statements() == few <= 12


def test_a_row_says_what_the_run_looks_like(made):
    made("r0")
    glances.refresh()
    (row,) = shown()
    assert (row.attempt, row.glance.loss, row.speaking) == (0, 1.51, 2)
    assert (row.glance.spark[0], row.glance.spark[-1], row.glance.nonfinite) == (2.0, 1.51, 0)
    assert (row.good.step, row.order, row.incident) == (40, None, None)


def test_a_process_that_never_named_its_rank_is_counted_by_its_place(made):
    run_id = made("r0")
    body = log_body(b"no rank here\n", local_rank=1, node="gpu-a09", source="other/1/stderr.log")
    digest([envelope("logs", body, run_id=run_id)])
    (row,) = shown()
    assert row.speaking == 3


def test_an_incident_is_shown_however_many_others_wait(made):
    """The page of a run asked for the newest 200 of all runs, and found none of its own."""
    old = made("old")
    incidents.absorb(old, 0, [explosion()], now_ns())
    for n in range(3):
        incidents.absorb(made(f"r{n}"), 0, [explosion()], now_ns())
    few = incident_store.list_incidents
    assert len(few(incident_store.IncidentQuery(limit=10))) == 4
    rows = {row.run.key: row.incident for row in shown()}
    assert rows["old"] is not None
    assert flight.flight(runs.get_run("old"), now_ns()).incident == rows["old"]


def test_a_glance_is_made_again_only_when_something_was_heard(made):
    run_id = made("r0")
    assert glances.refresh() == 1
    assert glances.refresh() == 0
    later = envelope("metrics", metric_body({50: 7.5}), run_id=run_id)
    digest([replace(later, received_ns=later.received_ns + 1)])
    assert glances.refresh() == 1
    assert metrics.glances([run_id])[run_id].loss == 7.5


def test_a_value_that_is_no_number_is_counted_and_shown(made):
    run_id = made("r0")
    digest([envelope("metrics", metric_body({50: "NaN"}), run_id=run_id)])
    glances.refresh()
    glance = metrics.glances([run_id])[run_id]
    assert str(glance.loss) == "nan"
    assert (glance.nonfinite, len(glance.spark)) == (1, 50)


def test_a_glance_that_cannot_be_made_keeps_no_other_from_its_own(made, monkeypatch):
    bad, good = made("bad"), made("good")
    whole = glances.glance_of
    monkeypatch.setattr(
        glances, "glance_of", lambda run_id, n: whole(run_id, n) if run_id == good else 1 / 0
    )
    assert glances.refresh() == 2
    assert {run_id: g.loss for run_id, g in metrics.glances([bad, good]).items()} == {
        bad: None,
        good: 1.51,
    }


def test_a_run_that_is_seldom_heard_of_has_its_turn_among_many(made):
    seldom, often = made("seldom"), made("often")
    glances.refresh()
    at_ns = now_ns()
    contact_store.note(seldom, at_ns)
    for n in (1, 2):
        contact_store.note(often, at_ns + n)
        assert glances.refresh(limit=1) == 1
    assert seldom not in [run_id for run_id, *_ in metrics.stale_glances(9)]


def test_a_run_that_sends_only_what_is_refused_takes_no_turn(made):
    made("r0")
    contact_store.note(runs.ensure_run("refused"), now_ns() + 10**9)
    assert glances.refresh(limit=1) == 1


def test_older_runs_follow_page_after_page(db, monkeypatch):
    monkeypatch.setattr(board, "PAGE", 2)
    for n in range(5):
        runs.ensure_run(f"r{n}")
    seen, after = [], None
    for _ in range(3):
        page = board.board(Asked(after=after), now_ns())
        seen += [row.run.key for row in page.rows]
        after = page.next
    assert (seen, after) == (["r4", "r3", "r2", "r1", "r0"], None)


def test_a_project_has_a_list_of_its_own(made):
    made("theirs")
    assert [row.run.key for row in shown(project="")] == ["theirs"]
    assert shown(project="another") == []


def test_a_silent_run_that_nobody_owns_is_marked(made):
    run_id = made("r0")
    later_ns = now_ns() + 8 * 24 * 3600 * 10**9
    page = board.board(Asked(shown="orphans"), later_ns)
    assert [row.run.id for row in page.rows if row.orphan] == [run_id]
    assert page.counts["orphans"] == 1


def test_an_outage_that_hits_every_run_weighs_the_candidates_of_a_few(made, monkeypatch):
    monkeypatch.setattr(board, "WEIGHED", 1)
    for n in range(2):
        incidents.absorb(made(f"r{n}"), 0, [explosion()], now_ns())
    newest, older = shown()
    assert (newest.weighed, older.weighed, older.good) == (True, False, None)
