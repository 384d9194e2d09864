"""rollbacks.services with rules that ask for four eyes."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.records import Actor
from apps.accounts.services import Forbidden
from apps.checkpoints import observing
from apps.core.errors import Conflict, Refused
from apps.incidents import store as incidents
from apps.rollbacks import policy_store, services, store
from apps.rollbacks.domain.state import IllegalTransition
from apps.rollbacks.records import RollbackPolicy
from tests import rollback_story
from tests.incident_samples import at
from tests.rollback_samples import falling
from tests.rollback_story import ADA, BOB, EVE, asked

pytestmark = pytest.mark.django_db
PROGRAM = Actor("token", "ci", frozenset({"read", "operate"}))


@pytest.fixture
def incident():
    found = rollback_story.explode()
    policy_store.save("", RollbackPolicy(50, second_approver=True, version=2, changed_by="boss"))
    return found


@pytest.fixture
def order(incident):
    return services.request(asked())


def test_a_proposed_order_is_given_to_nobody(incident, order):
    assert (order.state, order.active, order.waiting) == ("proposed", True, False)
    assert services.resume_point(incident.run_id).order_id is None
    (line,) = store.events(incident.run_id, order.id)
    assert (line.act, line.after) == ("propose", "proposed")
    assert accounts.audit_rows(1)[0].action == "rollback.proposed"
    texts = [e.text for e in incidents.events(incident.run_id, incident.id)]
    assert f"{order.label} to step 900 proposed: loss exploded" in texts
    with pytest.raises(IllegalTransition, match="proposed cannot be changed by acknowledge"):
        services.acknowledge(incident.run_id, order.id, "slurm-77", ADA)


def test_another_person_agrees_and_is_named_in_the_signed_order(incident, order):
    approved = services.approve(incident.run_id, order.id, BOB, "900")
    assert (approved.state, approved.approver, approved.actor) == ("requested", "bob", "ada")
    point = services.resume_point(incident.run_id)
    assert (point.order_id, point.document["payload"]["approver"]) == (order.id, "bob")
    row = accounts.audit_rows(1)[0]
    assert (row.action, row.actor) == ("rollback.approved", "user:bob")


@pytest.mark.parametrize(
    ("actor", "confirm", "error", "message"),
    [
        (ADA, "900", Refused, "was proposed by you"),
        (PROGRAM, "900", Refused, "an approval comes from a person"),
        (EVE, "900", Forbidden, "operate"),
        (BOB, "90", Refused, 'typed "90" to confirm step 900'),
    ],
)
def test_nobody_else_can(incident, order, actor, confirm, error, message):
    with pytest.raises(error, match=message):
        services.approve(incident.run_id, order.id, actor, confirm)
    assert store.get(incident.run_id, order.id).state == "proposed"


def test_it_is_approved_once(incident, order):
    services.approve(incident.run_id, order.id, BOB, "900")
    with pytest.raises(IllegalTransition, match="requested cannot be changed by approve"):
        services.approve(incident.run_id, order.id, BOB, "900")


def test_a_checkpoint_that_went_bad_meanwhile_is_not_approved(incident, order):
    observing.deleted(incident.run_id, (0, 900), why="removed by eve", at_ns=at(3_000))
    with pytest.raises(Refused, match="step 900 is not complete"):
        services.approve(incident.run_id, order.id, BOB, "900")


def test_it_holds_the_place_of_the_active_order_until_it_is_declined(incident, order):
    with pytest.raises(Conflict, match="by ada is proposed"):
        services.request(asked(750, idempotency_key="k2", actor=BOB))
    services.cancel(incident.run_id, order.id, BOB, "I do not agree")
    assert services.request(asked(750, idempotency_key="k2", actor=BOB)).state == "proposed"


def test_a_run_that_recovers_by_itself_ends_it(incident, order):
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, falling(900, 1200, seed=2))
    changes = services.watch(incident.run_id, 1, at(9_000))
    assert [c.change for c in changes] == ["recovered"]
    assert store.get(incident.run_id, order.id).state == "failed"
