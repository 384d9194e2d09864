"""Rollback orders and their hand-overs say where hosts stand."""

import pytest

from apps.nodes import hosts_store
from apps.nodes import services as hosts
from apps.nodes.domain.standing import Act, Deed, HostState
from apps.rollbacks import excluding, policy_store, services
from apps.rollbacks.records import RollbackPolicy
from tests.incident_samples import at
from tests.rollback_story import ADA, BOB, asked, explode

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident(db, valkey):
    return explode()


def standing(name="gpu-a01"):
    return hosts_store.get(name).standing


def ordered(**fields):
    return services.request(asked(exclude_nodes=("gpu-a01",), **fields))


def test_a_host_that_an_order_leaves_out_is_cordoned_by_who_ordered_it(incident):
    order = ordered()
    now = standing()
    assert (now.state, now.by, now.cause) == (HostState.CORDONED, "ada", f"order:{order.id}")
    assert now.reason == f"{order.label} leaves it out: loss exploded"


def test_a_proposed_order_cordons_nobody_until_it_is_approved(incident):
    rules = RollbackPolicy(margin_steps=50, second_approver=True, version=2, changed_by="test")
    policy_store.save("", rules)
    order = ordered()
    assert hosts_store.get("gpu-a01") is None
    services.approve(order.run_id, order.id, BOB, "900")
    assert (standing().state, standing().by) == (HostState.CORDONED, "bob")


def test_an_order_that_is_cancelled_gives_back_what_was_before(incident):
    order = ordered()
    hosts.act(["gpu-a01"], Deed(Act.CLEAR, at(1), "ada", "for the test"))
    hosts.act(["gpu-a01"], Deed(Act.CONFIRM, at(2), "ada", "Xid 79"))
    services.cancel(order.run_id, order.id, ADA, "wrong host")
    assert standing().state is HostState.CONFIRMED
    again = ordered(idempotency_key="k2")
    services.cancel(again.run_id, again.id, ADA, "wrong step")
    assert (standing().state, standing().reason) == (
        HostState.CONFIRMED, f"{again.label} is cancelled",
    )  # fmt: skip


def test_what_a_launcher_drained_stays_out_when_the_order_is_cancelled(incident):
    order = ordered()
    excluding.taken_out(order.run_id, order.id, "drain gpu-a01: no job gets it", at(3_000))
    services.cancel(order.run_id, order.id, ADA, "too late")
    now = standing()
    assert (now.state, now.cause) == (HostState.CORDONED, f"drain:{order.id}")
    assert now.reason == f"{order.label}: drain gpu-a01: no job gets it"


def test_a_newer_order_in_its_place_decides_who_stays_out(incident):
    ordered()
    services.request(asked(750, exclude_nodes=("gpu-b02",), idempotency_key="k2", supersede=True))
    assert standing().state is HostState.OK
    assert standing("gpu-b02").state is HostState.CORDONED
