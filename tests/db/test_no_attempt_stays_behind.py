"""ingest.analyse: what was written is analysed, whoever dies or overtakes whom."""

import pytest

from apps.core.clock import now_ns
from apps.core.records import Finding, FindingSeverity
from apps.ingest import analyse, store
from apps.ingest.digest import digest
from apps.runs import store as runs
from tests.factories import T0_NS, envelope, metric_body
from workers.writer.loop import Writer

HOUR_NS = 3_600_000_000_000


@pytest.fixture
def run_id(db, valkey):
    made = runs.ensure_run("r")
    digest([envelope("metrics", metric_body({1: 1.0}), run_id=made)])
    return made


def behind(run_id):
    return store.analyses_of([run_id])[run_id].behind


def failure(**facts):
    return Finding(
        key="failure:0", detector="triage", kind="failure", severity=FindingSeverity.PAGE,
        attempt=0, onset_step=1, onset_time_ns=T0_NS, seen_step=1, seen_time_ns=T0_NS,
        title="rank 3 died", facts={"settled": True, **facts},
    )  # fmt: skip


def test_the_next_round_of_any_writer_does_it(run_id):
    assert analyse.due(now_ns()) == [(run_id, "r", 0)]
    Writer("w").analyse_due()
    assert (behind(run_id), analyse.due(now_ns())) == (0, [])


def test_what_is_written_while_it_runs_is_done_next(run_id, monkeypatch):
    monkeypatch.setattr(analyse.metrics, "detect", lambda *_: store.mark_written(run_id, [0]) or [])
    analyse.analyse(run_id, 0, now_ns())
    assert (behind(run_id), analyse.due(now_ns())) == (
        1,
        [(run_id, "r", 0)],
    )


def test_an_appointment_does_not_hold_up_new_data(run_id):
    store.end_analysis(run_id, 0, seen=1, now_ns=1, again_at_ns=now_ns() + HOUR_NS)
    assert analyse.due(now_ns()) == []
    store.mark_written(run_id, [0])
    assert analyse.due(now_ns()) == [(run_id, "r", 0)]


def test_an_appointment_is_kept_without_new_data(run_id):
    store.end_analysis(run_id, 0, seen=1, now_ns=1, again_at_ns=now_ns() + HOUR_NS)
    assert analyse.due(now_ns() + 2 * HOUR_NS) == [(run_id, "r", 0)]


def test_what_somebody_else_just_did_is_not_done_again(run_id, monkeypatch):
    analyse.bring_up_to_date(run_id, "r", 0)
    monkeypatch.setattr(analyse.metrics, "detect", lambda *_: pytest.fail("analysed twice"))
    analyse.bring_up_to_date(run_id, "r", 0)
    assert store.analyses_of([run_id])[run_id].errors == []


def test_a_failure_that_turns_out_to_be_none_is_taken_back(run_id, monkeypatch):
    said = iter([[failure()], [failure(recovered=True)]])
    monkeypatch.setattr(analyse.logs, "triage", lambda *_: next(said))
    analyse.analyse(run_id, 0, now_ns())
    assert runs.attempts(run_id)[0].state == "failed"
    store.mark_written(run_id, [0])
    analyse.analyse(run_id, 0, now_ns())
    assert runs.attempts(run_id)[0].state == "running"


def test_a_failure_is_urgent_until_it_is_settled(run_id, monkeypatch):
    said = iter([[failure(settled=False)], [failure()]])
    monkeypatch.setattr(analyse.logs, "triage", lambda *_: next(said))
    assert analyse.analyse(run_id, 0, now_ns()).urgent
    store.mark_written(run_id, [0])
    assert not analyse.analyse(run_id, 0, now_ns()).urgent
