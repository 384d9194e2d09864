"""Whom incidents blame: suspected, confirmed by an event, let go again, never against a person."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.records import SYSTEM
from apps.incidents import blaming
from apps.incidents import services as incidents
from apps.incidents.store import blames
from apps.logs import flight
from apps.nodes import hosts_store, services
from apps.nodes import store as nodes
from apps.nodes.domain.lemon import score_at
from apps.nodes.domain.standing import HostState
from apps.runs import store as runs
from apps.runs.records import PlacementInfo
from tests.flight_samples import as_json, collective, dump
from tests.host_samples import died, suspect, xid
from tests.incident_samples import SECOND, at, explosion

pytestmark = pytest.mark.django_db
NOW = at(500)


@pytest.fixture
def run_id():
    run_id = runs.ensure_run("r")
    runs.open_attempt(run_id, 0, 0)
    return run_id


def absorb(run_id, *suspects, now=NOW, attempt=0):
    return died(run_id, *suspects, now_ns=now, attempt=attempt)


def standing(name="gpu-b02"):
    return hosts_store.get(name).standing


def test_a_host_that_a_verdict_blames_is_suspected_and_says_why(run_id):
    (change,) = absorb(run_id, suspect())
    now = standing()
    assert (now.state, now.by, now.since_ns) == (HostState.SUSPECTED, "lastgood", NOW)
    label = f"INC-{change.incident_id}"
    assert now.reason == f"{label} blames it: rank 6, xid 79, confidence 0.90"
    assert now.cause == f"incident:{change.incident_id}"
    assert score_at(hosts_store.get("gpu-b02").log2_score, NOW) == pytest.approx(0.9, rel=0.01)


def test_the_change_is_in_its_history_and_in_the_audit_trail(run_id):
    absorb(run_id, suspect())
    (change,) = hosts_store.changes("gpu-b02", (2**62, 0))
    assert (change.before, change.after) == (HostState.OK, HostState.SUSPECTED)
    row = next(r for r in accounts.audit_rows(10) if r.action == "host.suspected")
    assert (row.object, row.before, row.after["state"]) == (
        "host gpu-b02", {"state": "ok"}, "suspected",
    )  # fmt: skip


def test_a_bug_of_the_program_is_remembered_and_makes_nobody_suspect(run_id):
    absorb(run_id, suspect(fault="py_exception"))
    assert standing().state is HostState.OK
    (found,) = blames.blamed("gpu-b02", (2**62, 0))
    assert (found.blame.weight, found.blame.fault_class) == (0.0, "py_exception")


def test_an_event_at_the_same_time_confirms_it(run_id):
    nodes.record([xid(at(120) - 60 * SECOND)])
    absorb(run_id, suspect(fault="py_exception"))
    now = standing()
    assert now.state is HostState.CONFIRMED
    assert "at the same time xid_79 on 0000:ae:00: off the bus" in now.reason


def test_an_event_that_comes_after_the_verdict_confirms_it_too(run_id):
    absorb(run_id, suspect())
    assert blaming.weigh(NOW) == 0
    nodes.record([xid(at(120) + 2 * SECOND)])
    assert blaming.weigh(NOW) == 1
    assert standing().state is HostState.CONFIRMED
    assert blaming.weigh(NOW) == 0


def test_a_verdict_that_changes_its_mind_lets_the_first_host_go(run_id):
    absorb(run_id, suspect())
    absorb(run_id, suspect("gpu-c03", rank=9), now=NOW + 1)
    assert standing().state is HostState.OK
    assert "blames it no more" in standing().reason
    assert standing("gpu-c03").state is HostState.SUSPECTED
    assert hosts_store.get("gpu-b02").log2_score == -1e9


def test_a_host_that_another_incident_blames_is_not_let_go(run_id):
    absorb(run_id, suspect())
    runs.open_attempt(run_id, 1, 1)
    absorb(run_id, suspect(), attempt=1)
    absorb(run_id, suspect("gpu-c03", rank=9), now=NOW + 1)
    assert standing().state is HostState.SUSPECTED


def test_a_person_who_clears_a_host_is_not_contradicted_by_the_same_incident(run_id):
    absorb(run_id, suspect())
    actor = SYSTEM
    services.mark(
        "gpu-b02", HostState.OK, actor=actor, now_ns=NOW + 5, reason="tested: nothing found"
    )
    absorb(run_id, suspect(confidence=0.95), now=NOW + 9)
    assert standing().state is HostState.OK
    runs.open_attempt(run_id, 1, 1)
    absorb(run_id, suspect(), now=NOW + 20, attempt=1)
    assert standing().state is HostState.SUSPECTED


def test_a_doubtful_verdict_counts_little_and_suspects_nobody(run_id):
    absorb(run_id, suspect(confidence=0.3))
    host = hosts_store.get("gpu-b02")
    assert host.state is HostState.OK
    assert score_at(host.log2_score, NOW) == pytest.approx(0.3, rel=0.01)


def test_the_dumps_of_a_hang_blame_the_host_of_the_rank_that_stopped(run_id):
    runs.record_placements(run_id, 0, [PlacementInfo(r, f"gpu-{r}", 0) for r in range(3)])
    absorb(run_id)
    waiting = [collective("0", 5)]
    bodies = {
        rank: as_json(
            dump({"0": range(3)}, [] if rank == 1 else waiting, last=4 if rank == 1 else 5)
        )
        for rank in range(3)
    }
    flight.take(run_id, 0, bodies, NOW)
    assert flight.judge_due(10) == [(run_id, 0)]
    blaming.judged(run_id, 0, NOW)
    assert standing("gpu-1").state is HostState.SUSPECTED
    assert "hang no error" in standing("gpu-1").reason
    assert hosts_store.get("gpu-0") is None


def test_an_incident_of_the_numbers_without_suspects_asks_two_statements_more(
    run_id, django_assert_num_queries
):
    (change,) = incidents.absorb(run_id, 0, [explosion()], NOW)
    with django_assert_num_queries(2):
        blaming.note(run_id, [change.incident_id], NOW)


def test_many_hosts_cost_as_many_statements_as_one(run_id, django_assert_max_num_queries):
    many = [suspect(f"gpu-{n}", confidence=0.02, rank=n) for n in range(40)]
    (change,) = absorb(run_id, *many)
    with django_assert_max_num_queries(13):
        blaming.note(run_id, [change.incident_id], NOW)
