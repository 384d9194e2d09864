import pytest

from apps.accounts import store as accounts
from apps.accounts.services import Forbidden
from apps.core.errors import Conflict, NotFound, Refused
from apps.incidents import store as incidents
from apps.rollbacks import services, store
from apps.rollbacks.domain.state import IllegalTransition
from tests import rollback_story
from tests.rollback_story import ADA, BOB, EVE, asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident():
    return rollback_story.explode()


def test_the_candidates_of_the_incident(incident):
    found = services.candidates(incident.run_id, incident)
    assert [(c.step, c.eligible) for c in found][:3] == [(900, True), (750, True), (600, True)]
    assert max(c.step for c in found) == 900
    assert found[0].lost_steps == 349
    assert found[0].lost_gpu_hours == pytest.approx(349 * 8 / 3600)
    assert any("loss normal before the save" in e.text for e in found[0].reasons)


def test_an_order_names_its_checkpoint_and_leaves_a_trail(incident):
    order = services.request(asked())
    assert (order.step, order.attempt, order.from_attempt) == (900, 0, 0)
    assert (order.state, order.active, order.incident_id) == ("requested", True, incident.id)
    assert order.branch_dir == f"/data/boom.rollback-{order.id}"
    assert not order.forced
    (line,) = store.events(incident.run_id, order.id)
    assert (line.act, line.after, line.actor, line.why) == (
        "request", "requested", "ada", "loss exploded"
    )  # fmt: skip
    row = accounts.audit_rows(1)[0]
    assert (row.action, row.actor, row.reason) == (
        "rollback.requested", "user:ada", "loss exploded"
    )  # fmt: skip
    texts = [e.text for e in incidents.events(incident.run_id, incident.id)]
    assert f"RB-{order.id} to step 900 ordered: loss exploded" in texts


def test_the_same_key_gives_the_same_order(incident):
    assert services.request(asked()) == services.request(asked())
    assert len(store.orders(incident.run_id)) == 1
    with pytest.raises(Conflict, match="was used for RB-"):
        services.request(asked(750))


def test_a_second_order_hears_who_was_first(incident):
    services.request(asked())
    with pytest.raises(Conflict, match=r"RB-\d+ to step 900 by ada is requested"):
        services.request(asked(750, idempotency_key="k2", actor=BOB))


def test_a_second_order_may_supersede_the_first(incident):
    first = services.request(asked())
    second = services.request(asked(750, idempotency_key="k2", actor=BOB, supersede=True))
    states = {o.id: o.state for o in store.orders(incident.run_id)}
    assert states == {first.id: "superseded", second.id: "requested"}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"actor": EVE}, Forbidden, "operate"),
        ({"confirm": "90"}, Refused, 'typed "90" to confirm step 900'),
        ({"reason": "  "}, Refused, "a reason is missing"),
        ({"idempotency_key": ""}, Refused, "idempotency key is missing"),
        ({"run_key": "nobody"}, NotFound, "no such run"),
        ({"incident_id": 10**9}, NotFound, "no such incident"),
        ({"step": 901, "confirm": "901"}, NotFound, "no checkpoint of step 901"),
        ({"step": 1050, "confirm": "1050"}, Refused, "saved at or after the onset"),
        ({"skip_ranges": ((10, 5),)}, Refused, "ends before it begins"),
        ({"skip_ranges": ((0, 2**70),)}, Refused, "ends before it begins"),
        ({"exclude_nodes": ("gpu\x00",)}, Refused, "a NUL character"),
        ({"step": 2**70, "confirm": str(2**70)}, NotFound, "no checkpoint of step"),
        ({"attempt": 5}, NotFound, "no checkpoint of step 900"),
    ],
)
def test_a_wrong_request_changes_nothing(incident, change, error, message):
    with pytest.raises(error, match=message):
        services.request(asked(**change))
    assert store.orders(incident.run_id) == []


def test_a_step_that_is_no_candidate_can_be_forced(incident):
    order = services.request(asked(1050, force=True))
    assert order.forced


def test_an_incomplete_checkpoint_cannot_even_be_forced(incident):
    rollback_story.save(incident.run_id, 0, 925, complete=False)
    with pytest.raises(Refused, match=r"step 925 is not complete: no \.metadata file"):
        services.request(asked(925, force=True))


def test_an_order_is_acknowledged_by_one_launcher(incident):
    order = services.request(asked())
    taken = services.acknowledge(incident.run_id, order.id, "slurm-77", ADA)
    assert (taken.state, taken.launch) == ("acknowledged", "slurm-77")
    assert services.acknowledge(incident.run_id, order.id, "slurm-77", ADA) == taken
    with pytest.raises(Conflict, match="was acknowledged by slurm-77"):
        services.acknowledge(incident.run_id, order.id, "slurm-78", ADA)
    with pytest.raises(Forbidden):
        services.acknowledge(incident.run_id, order.id, "slurm-77", EVE)
    with pytest.raises(Refused, match="the launch has no name"):
        services.acknowledge(incident.run_id, order.id, " ", ADA)
    with pytest.raises(NotFound):
        services.acknowledge(incident.run_id, order.id + 1, "slurm-77", ADA)


def test_a_cancelled_order_makes_room_for_another(incident):
    order = services.request(asked())
    services.cancel(incident.run_id, order.id, BOB, "wrong step")
    with pytest.raises(IllegalTransition, match="cancelled cannot be changed by cancel"):
        services.cancel(incident.run_id, order.id, BOB, "again")
    assert services.request(asked(750, idempotency_key="k2")).state == "requested"
