"""nodes.conditions_store, through the door's writing."""

from dataclasses import replace

import pytest

from apps.ingest.digest import digest
from apps.ingest.nodes.parse import NodeBatch, pack
from apps.nodes import conditions_store, store
from apps.nodes.domain.conditions import Look, Mode, Reading
from apps.nodes.models import NodeConditionRow
from tests.factories import envelope

pytestmark = pytest.mark.django_db
HOT = Reading("temp 3", "thermal", "warning", "hot", "GPU 3")
WELL = replace(HOT, level="")
ECC = Reading("ecc 3", "ecc", "critical", "errors", "GPU 3", Mode.COUNT, 2.0)


def look(at_ns, *readings, node="gpu-a01", source="dcgm", whole=False):
    return Look(source, node, at_ns, readings, whole)


def seen(node="gpu-a01"):
    return [(e.time_ns, e.kind, e.ended_ns) for e in store.events([node], 0, 2**62)]


def test_a_state_is_one_event_with_an_end():
    assert conditions_store.look([look(10, HOT)]) == (1, 0)
    assert conditions_store.look([look(20, HOT)]) == (0, 0)
    assert seen() == [(10, "thermal", None)]
    conditions_store.look([look(30, WELL)])
    assert seen() == [(10, "thermal", 30)]
    assert NodeConditionRow.objects.count() == 0


def test_several_looks_at_once_are_taken_in_their_order():
    conditions_store.look([look(10, HOT), look(20, WELL), look(30, HOT)])
    assert seen() == [(10, "thermal", 20), (30, "thermal", None)]


def test_sources_and_nodes_stand_for_themselves():
    conditions_store.look([look(10, HOT), look(10, HOT, source="gpud"), look(10, HOT, node="b")])
    conditions_store.look([look(20, WELL, source="gpud")])
    assert NodeConditionRow.objects.count() == 2
    assert conditions_store.nodes_of("dcgm") == {"gpu-a01", "b"}


def test_a_whole_look_ends_what_it_does_not_name():
    conditions_store.look([look(10, HOT, ECC, whole=True)])
    conditions_store.look([look(20, ECC, whole=True)])
    assert [kind for _, kind, ended in seen() if ended] == ["thermal"]


def test_a_late_look_is_counted():
    conditions_store.look([look(50, HOT)])
    assert conditions_store.look([look(40, WELL)]) == (0, 1)


def test_a_look_that_changes_nothing_writes_nothing(django_assert_num_queries):
    conditions_store.look([look(10, HOT, ECC)])
    with django_assert_num_queries(5):  # savepoint, names, lock, what is held, savepoint
        conditions_store.look([look(20, HOT, ECC)])


def test_the_same_body_again_is_the_same_event():
    body = pack(NodeBatch((), {"metric_lines_unread": 1}, (look(10, HOT), look(20, WELL))))
    sent = envelope("nodes", body, run_id=0, run_key="")
    assert [digest([sent]).written, digest([sent]).duplicates] == [1, 1]
    other = envelope("nodes", body, run_id=0, run_key="", batch_id="again")
    digest([other])
    assert seen() == [(10, "thermal", 20)]
