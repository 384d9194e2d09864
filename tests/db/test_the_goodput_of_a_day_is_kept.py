"""rollbacks.goodputs: watched runs in turn, each every few minutes."""

import pytest
from msgspec.structs import replace

from apps.core.clock import now_ns
from apps.dashboard import board
from apps.ingest.digest import digest
from apps.metrics import glances
from apps.metrics import store as metrics
from apps.rollbacks import goodputs, planning
from apps.runs import contact_store
from apps.runs import store as runs
from tests.factories import envelope, metric_body


@pytest.fixture
def made(db, valkey):
    def make(name):
        run_id = runs.ensure_run(name)
        sent = envelope("metrics", metric_body(dict.fromkeys(range(50), 2.0)), run_id=run_id)
        digest([replace(sent, received_ns=now_ns())])
        glances.refresh()
        return run_id

    return make


def test_it_is_that_of_the_page_of_planning_and_on_the_list(made):
    run_id, now = made("r"), now_ns()
    assert goodputs.refresh(now) == 1
    found = planning.goodput_of(runs.run_by_id(run_id), now, now - goodputs.SPAN_NS)
    assert metrics.glances([run_id])[run_id].goodput == found.ratio
    (row,) = board.board(board.Asked(), now).rows
    assert row.goodput == found.ratio


def test_a_run_has_its_turn_again_after_a_while(made):
    made("r")
    now = now_ns()
    rounds = [goodputs.refresh(now + passed) for passed in (0, 1, goodputs.EVERY_NS + 1)]
    assert rounds == [1, 0, 1]


def test_a_run_that_ended_before_its_turn_has_one_all_the_same(made):
    run_id = made("r")
    contact_store.look_away({run_id: contact_store.watched_run(run_id).look.heard_ns})
    assert [goodputs.refresh(now_ns() + passed) for passed in (0, goodputs.EVERY_NS + 1)] == [1, 0]
    assert metrics.glances([run_id])[run_id].goodput is not None


def test_one_that_cannot_be_computed_keeps_no_other_from_its_own(made, monkeypatch):
    bad, good = made("bad"), made("good")
    whole = planning.goodput_of
    monkeypatch.setattr(
        planning, "goodput_of", lambda run, *times: whole(run, *times) if run.id == good else 1 / 0
    )
    assert goodputs.refresh(now_ns()) == 2
    found = metrics.glances([bad, good])
    assert found[bad].goodput is None
    assert goodputs.refresh(now_ns()) == 0
