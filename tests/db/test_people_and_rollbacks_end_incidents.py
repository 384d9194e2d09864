"""incidents.services.acknowledge and resolve."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.records import Actor
from apps.core.errors import AppError
from apps.incidents import services, store
from apps.incidents.domain.incident import IncidentChange
from apps.runs import store as runs
from tests.incident_samples import at, explosion

NOW = at(5000)
ALICE = Actor("user", "alice", frozenset({"read", "operate"}))


@pytest.fixture
def run_id(db):
    return runs.ensure_run("lrbump")


@pytest.fixture
def incident_id(run_id):
    return services.absorb(run_id, 0, [explosion()], NOW)[0].incident_id


def test_an_acknowledgement_names_who_and_when(run_id, incident_id):
    changes = services.acknowledge(run_id, incident_id, actor=ALICE, now_ns=NOW + 1)
    assert changes == [IncidentChange(run_id, incident_id, "acknowledged")]
    incident = store.get(incident_id)
    assert (incident.state, incident.acknowledged_by) == ("acknowledged", "alice")
    assert incident.acknowledged_at_ns == NOW + 1


def test_a_second_acknowledgement_changes_nothing(run_id, incident_id):
    services.acknowledge(run_id, incident_id, actor=ALICE, now_ns=NOW + 1)
    assert services.acknowledge(run_id, incident_id, actor=ALICE, now_ns=NOW + 2) == []
    assert store.get(incident_id).acknowledged_at_ns == NOW + 1


def test_a_verified_rollback_ends_it_for_good(run_id, incident_id):
    changes = services.resolve(run_id, incident_id, "recovered", NOW + 3)
    assert changes == [IncidentChange(run_id, incident_id, "resolved")]
    incident = store.get(incident_id)
    assert (incident.state, incident.resolution) == ("resolved", "recovered")
    assert incident.resolved_at_ns == NOW + 3
    assert services.resolve(run_id, incident_id, "recovered", NOW + 4) == []


def test_a_resolved_incident_cannot_be_acknowledged(run_id, incident_id):
    services.resolve(run_id, incident_id, "manual", NOW, actor=ALICE, reason="planned change")
    with pytest.raises(AppError, match="a resolved incident cannot be changed"):
        services.acknowledge(run_id, incident_id, actor=ALICE, now_ns=NOW)


def test_an_incident_of_another_run_is_not_found(incident_id):
    other = runs.ensure_run("other")
    with pytest.raises(AppError, match=f"there is no incident {incident_id} in this run"):
        services.resolve(other, incident_id, "manual", NOW)


def test_the_audit_says_who_why_and_what_changed(run_id, incident_id):
    services.resolve(run_id, incident_id, "manual", NOW, actor=ALICE, reason="planned change")
    row = accounts.audit_rows(1)[0]
    assert (row.actor, row.action, row.reason) == (
        "user:alice",
        "incident.resolved",
        "planned change",
    )
    assert (row.before, row.after) == (
        {"state": "open", "resolution": ""},
        {"state": "resolved", "resolution": "manual"},
    )


def test_the_history_tells_it_too(run_id, incident_id):
    services.resolve(run_id, incident_id, "manual", NOW, actor=ALICE, reason="planned change")
    assert store.events(run_id, incident_id)[-1].text == "resolved (manual): planned change"


def test_a_note_of_a_rollback_order_is_written_once(run_id, incident_id):
    note = store.EventInfo(NOW, "order:1:requested", "rollback to step 900 requested", "alice")
    services.note(run_id, incident_id, note)
    services.note(run_id, incident_id, note)
    keys = [e.key for e in store.events(run_id, incident_id)]
    assert keys.count("order:1:requested") == 1
