"""nodes.store.loud_events"""

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.records import NodeEvent
from apps.nodes import store

pytestmark = pytest.mark.django_db


def event(node, at_ns, kind="xid_79", severity="error"):
    return NodeEvent(node=node, time_ns=at_ns, kind=kind, severity=severity, message="m")


def test_of_each_kind_the_first_is_told_in_each_window():
    store.record(
        [
            *(event("n1", at) for at in range(10, 60)),
            event("n1", 55, "xid_48"),
            event("n1", 56, "xid_31", "warning"),
            event("n1", 200),
            event("n2", 30),
            event("n3", 30),
        ]
    )
    windows = [("n1", 20, 60), ("n1", 150, 250), ("n2", 0, 30)]
    found = [(e.node, e.time_ns, e.kind) for e in store.loud_events(windows)]
    assert found == [
        ("n1", 20, "xid_79"),
        ("n2", 30, "xid_79"),
        ("n1", 55, "xid_48"),
        ("n1", 200, "xid_79"),
    ]


def test_a_storm_is_looked_through_without_a_file():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '256kB'")
        cursor.execute(
            "INSERT INTO nodes_nodeeventrow (node, time_ns, digest, kind, severity, message)"
            " SELECT 'n1', t, t, 'xid_' || t %% 5, 'error', repeat('of a GPU ', 40)"
            " FROM generate_series(1, %s) AS t",
            [2_000],
        )
        with CaptureQueriesContext(connection) as asked:
            assert len(store.loud_events([("n1", 0, 2_000)])) == 5
        cursor.execute("EXPLAIN (ANALYZE, BUFFERS) " + asked[0]["sql"])
        assert ", temp " not in "\n".join(line for (line,) in cursor.fetchall())


def test_two_of_one_moment_are_one():
    storm = [event("n1", 5), replace(event("n1", 5), message="the same of another GPU")]
    store.record(storm)
    assert len(store.loud_events([("n1", 0, 9)])) == 1


def test_no_window_asks_for_nothing():
    assert store.loud_events([]) == []
