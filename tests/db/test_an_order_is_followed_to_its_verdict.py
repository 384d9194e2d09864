import pytest

from apps.incidents import store as incidents
from apps.rollbacks import services, store
from apps.runs import store as runs
from tests import rollback_story
from tests.incident_samples import at
from tests.rollback_samples import falling, raised
from tests.rollback_story import ADA, asked

pytestmark = pytest.mark.django_db
NOW = at(5_000)


@pytest.fixture
def incident():
    return rollback_story.explode()


@pytest.fixture
def order(incident):
    made = services.request(asked())
    return services.acknowledge(incident.run_id, made.id, "slurm-77", ADA)


def _restart(run_id, curve):
    rollback_story.start(1)
    rollback_story.log(run_id, 1, curve)


def _watch(run_id):
    return [(c.change, c.order_id, c.resolves) for c in services.watch(run_id, 1, NOW)]


def test_nothing_happens_before_the_restart(order):
    assert services.watch(order.run_id, 0, NOW) == []


def test_first_rows_at_the_ordered_step_mean_resumed(order):
    _restart(order.run_id, falling(900, 920, seed=2))
    assert _watch(order.run_id) == [("resumed", order.id, False)]
    now = store.get(order.run_id, order.id)
    assert (now.state, now.resumed_attempt, now.resumed_step) == ("resumed", 1, 900)
    assert _watch(order.run_id) == []


def test_a_rewind_that_has_logged_nothing_yet_resumes_nothing(order):
    rollback_story.start(1)
    runs.branch_off(order.run_id, 1, 0, 901)
    assert _watch(order.run_id) == []


def test_enough_healthy_rows_mean_recovered_and_end_the_incident(order, incident):
    _restart(order.run_id, falling(900, 1100, seed=2))
    assert _watch(order.run_id) == [("resumed", order.id, False), ("recovered", order.id, True)]
    ended = store.get(order.run_id, order.id)
    assert (ended.state, ended.verdict["outcome"]) == ("recovered", "recovered")
    assert [e.act for e in store.events(order.run_id, order.id)] == [
        "request", "acknowledge", "resume", "recover"
    ]  # fmt: skip
    resolved = incidents.get(incident.id)
    assert (resolved.state, resolved.resolution) == ("resolved", "recovered")
    assert _watch(order.run_id) == []


def test_an_order_that_is_followed_mitigates_its_incident(order, incident):
    assert incidents.get(incident.id).state == "mitigated"
    line = incidents.events(incident.run_id, incident.id)[-1]
    assert line.text == f"mitigated: {order.label}: taken on by slurm-77"


def test_an_order_that_is_taken_back_leaves_its_incident_open(order, incident):
    services.cancel(order.run_id, order.id, ADA, "wrong host")
    assert incidents.get(incident.id).state == "open"
    line = incidents.events(incident.run_id, incident.id)[-1]
    assert line.text == (
        f"reopened: what was done is taken back; {order.label} was cancelled: wrong host"
    )


def test_the_same_explosion_again_means_failed_and_reopens_the_incident(order, incident):
    _restart(order.run_id, raised(falling(900, 1100, seed=2), 2.5, at=1001))
    assert _watch(order.run_id)[-1] == ("failed", order.id, False)
    back = incidents.get(incident.id)
    assert (back.state, back.reopened, back.relapsed_attempt) == ("open", 1, 1)
    assert _watch(order.run_id) == []
    assert services.request(asked(750, idempotency_key="k2")).state == "requested"


def test_a_launcher_that_took_another_step_is_noted(order):
    _restart(order.run_id, falling(750, 780, seed=2))
    assert _watch(order.run_id) == [("resumed", order.id, False)]
    assert store.events(order.run_id, order.id)[-1].why == (
        "attempt 1 logs from step 750 on, the order says 900"
    )


def test_a_launcher_that_went_behind_the_onset_failed_the_order(order):
    _restart(order.run_id, falling(1050, 1080, seed=2))
    assert _watch(order.run_id) == [("failed", order.id, False)]
    assert "behind the onset at step 1001" in store.events(order.run_id, order.id)[-1].why


def test_a_restart_that_never_saw_the_order_leaves_it_waiting(incident):
    order = services.request(asked())
    _restart(incident.run_id, falling(1200, 1230, seed=2))
    assert _watch(incident.run_id) == []
    assert _watch(incident.run_id) == []
    assert store.get(incident.run_id, order.id).waiting
    lines = [e.why for e in store.events(incident.run_id, order.id)]
    assert lines[1:] == ["not obeyed: attempt 1 logs from step 1200 on, the order says 900"]


def test_a_run_that_recovers_without_an_order_ends_its_incident(incident):
    _restart(incident.run_id, falling(900, 1100, seed=2))
    assert _watch(incident.run_id) == [("recovered", None, True)]
    assert incidents.get(incident.id).resolution == "recovered"


def test_a_run_that_recovers_by_itself_ends_the_order_that_waits(incident):
    order = services.request(asked())
    _restart(incident.run_id, falling(750, 1100, seed=2))
    assert _watch(incident.run_id) == [("recovered", None, True)]
    ended = store.get(incident.run_id, order.id)
    assert ended.state == "failed"
    assert store.events(incident.run_id, order.id)[-1].why == (
        "the run recovered in attempt 1 without this order"
    )


def test_a_restart_behind_the_onset_does_not_end_the_incident(incident):
    _restart(incident.run_id, falling(1200, 1500, seed=2))
    assert _watch(incident.run_id) == []
    assert incidents.get(incident.id).state == "open"
