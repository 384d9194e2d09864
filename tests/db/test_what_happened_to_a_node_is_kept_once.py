"""nodes.store, through the door's writing."""

from dataclasses import replace

import pytest

from apps.core.records import NodeEvent
from apps.ingest.digest import digest
from apps.nodes import store
from apps.nodes.models import Node
from tests.factories import envelope

pytestmark = pytest.mark.django_db
XID = NodeEvent("gpu-b02", 50, "xid", "error", "Xid 79: fallen off the bus")


def seen(from_ns=0, to_ns=100, names=("gpu-a01", "gpu-b02")):
    return store.events(names, from_ns, to_ns)


def test_the_same_event_again_changes_nothing():
    store.record([XID, XID])
    store.record([XID])
    assert seen() == [XID]


@pytest.mark.parametrize(
    "changed",
    [{"time_ns": 51}, {"kind": "drain"}, {"message": "Xid 48"}, {"device": "GPU-7"}],
    ids=lambda changed: next(iter(changed)),
)
def test_another_event_is_another_line(changed):
    store.record([XID, replace(XID, **changed)])
    assert len(seen()) == 2


def test_events_come_in_the_order_of_time_and_only_of_the_nodes_asked_for():
    store.record([XID, replace(XID, node="gpu-a01", time_ns=10), replace(XID, node="gpu-z99")])
    assert [(event.node, event.time_ns) for event in seen()] == [("gpu-a01", 10), ("gpu-b02", 50)]


@pytest.mark.parametrize(("window", "count"), [((50, 50), 1), ((51, 99), 0), ((0, 49), 0)])
def test_both_ends_of_the_window_belong_to_it(window, count):
    store.record([XID])
    assert len(seen(*window)) == count


def test_a_storm_of_one_kind_hides_no_other():
    storm = [replace(XID, kind="xid_13", time_ns=n, device=f"GPU-{n}") for n in range(600)]
    store.record([*storm, replace(XID, kind="xid_79", time_ns=700)])
    kinds = [event.kind for event in seen(0, 1_000)]
    assert (kinds.count("xid_13"), kinds.count("xid_79")) == (store.EACH_KIND, 1)


def test_nodes_are_known_once():
    store.record([XID])
    store.ensure(["gpu-b02", "gpu-a01", "gpu-b02"])
    assert sorted(Node.objects.values_list("name", flat=True)) == ["gpu-a01", "gpu-b02"]


def test_a_batch_through_the_door_is_written_once():
    body = b'{"events":[{"node":"gpu-b02","time_ns":50,"kind":"xid","message":"Xid 79"}]}'
    sent = envelope("nodes", body, run_id=0, run_key="")
    assert [digest([sent]).written, digest([sent]).duplicates] == [1, 1]
    assert seen() == [NodeEvent("gpu-b02", 50, "xid", "info", "Xid 79")]
