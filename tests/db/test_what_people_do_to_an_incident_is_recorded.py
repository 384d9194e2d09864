"""incidents.acting: mitigate, silence, assign, remark."""

import pytest
from django.contrib.auth.models import User

from apps.accounts import store as accounts
from apps.accounts.records import SYSTEM, Actor
from apps.core.errors import Refused
from apps.incidents import services, store
from apps.incidents.acting import MAX_NOTE
from apps.incidents.domain.incident import UNTIL_RESOLVED
from apps.runs import store as runs
from tests.incident_samples import SECOND, at, explosion

NOW = at(5000)
HOUR = 3600 * SECOND
ALICE = Actor("user", "alice", frozenset({"read", "operate"}))
ROBOT = Actor("token", "ci", frozenset({"read", "operate"}))


@pytest.fixture
def run_id(db):
    User.objects.create_user("bob")
    return runs.ensure_run("lrbump")


@pytest.fixture
def incident_id(run_id):
    return services.absorb(run_id, 0, [explosion()], NOW)[0].incident_id


def test_a_mitigated_incident_says_since_when_and_still_counts(run_id, incident_id):
    services.mitigate(run_id, incident_id, now_ns=NOW + 1, actor=ALICE, reason="lower rate")
    incident = store.get(incident_id)
    assert (incident.state, incident.mitigated_at_ns) == ("mitigated", NOW + 1)
    assert store.open_count() == 1
    assert [i.id for i in store.waiting([run_id])] == [incident_id]


def test_only_a_person_becomes_owner_by_an_acknowledgement(run_id, incident_id):
    services.acknowledge(run_id, incident_id, actor=ROBOT, now_ns=NOW)
    assert store.get(incident_id).owner == ""


def test_an_incident_is_given_to_somebody_who_exists(run_id, incident_id):
    services.assign(run_id, incident_id, "bob", actor=ALICE, now_ns=NOW)
    assert store.get(incident_id).owner == "bob"
    with pytest.raises(Refused, match='there is no user "eve"'):
        services.assign(run_id, incident_id, "eve", actor=ALICE, now_ns=NOW)
    services.assign(run_id, incident_id, "", actor=ALICE, now_ns=NOW)
    assert store.get(incident_id).owner == ""


def test_a_silence_names_its_end_its_reason_and_who(run_id, incident_id):
    silence = {"actor": ALICE, "now_ns": NOW, "reason": "known"}
    services.silence(run_id, incident_id, NOW + HOUR, **silence)
    incident = store.get(incident_id)
    assert (incident.silenced_by, incident.silence_reason) == ("alice", "known")
    assert incident.silenced(NOW + HOUR - 1) and not incident.silenced(NOW + HOUR)
    services.silence(run_id, incident_id, UNTIL_RESOLVED, **silence)
    assert store.get(incident_id).silenced_for_good
    services.unsilence(run_id, incident_id, actor=ALICE, now_ns=NOW)
    assert store.get(incident_id).silenced_until_ns is None


def test_every_act_has_its_line_and_its_audit_row(run_id, incident_id):
    services.acknowledge(run_id, incident_id, actor=ALICE, now_ns=NOW + 1)
    for n in (2, 3):
        services.silence(
            run_id, incident_id, NOW + n * HOUR, actor=ALICE, now_ns=NOW + n, reason=f"why {n}"
        )
    services.mitigate(run_id, incident_id, now_ns=NOW + 4)
    said = [e.text.split(" ")[0] for e in store.events(run_id, incident_id)][-4:]
    assert said == ["acknowledged", "silenced", "silenced", "mitigated"]
    rows = accounts.audit_rows(4)
    assert [row.action for row in rows] == [
        "incident.mitigated",
        "incident.silenced",
        "incident.silenced",
        "incident.acknowledged",
    ]
    assert rows[0].actor == f"system:{SYSTEM.name}"
    assert rows[1].before["silence_reason"] == "why 2"


def test_a_note_is_kept_once_with_its_author(run_id, incident_id):
    note = {"key": "k1", "actor": ALICE, "now_ns": NOW + 1}
    assert services.remark(run_id, incident_id, "  saw <b>it</b> too ", **note)
    assert services.remark(run_id, incident_id, "saw it again", **note) == []
    notes = store.notes(run_id, incident_id)
    assert [(n.text, n.actor) for n in notes] == [("saw <b>it</b> too", "alice")]
    assert accounts.audit_rows(1)[0].action == "incident.noted"


@pytest.mark.parametrize(
    "text,key,why",
    [
        ("  ", "k", "a note is empty or too long"),
        ("x" * (MAX_NOTE + 1), "k", "a note is empty or too long"),
        ("x", "", "the idempotency key is missing"),
    ],
)
def test_an_odd_note_is_refused(run_id, incident_id, text, key, why):
    with pytest.raises(Refused, match=why):
        services.remark(run_id, incident_id, text, key=key, actor=ALICE, now_ns=NOW)
