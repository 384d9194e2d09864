"""runs.services.place_rows and settle_attempt: a lower step at a later time, without a start."""

import orjson
import pytest

from apps.ingest.digest import digest
from apps.runs import services, store
from apps.runs.records import LaunchSeen
from tests.factories import T0_NS, envelope, metric_body

SECOND_NS = 1_000_000_000
LATER_NS = T0_NS + 3600 * SECOND_NS


@pytest.fixture
def run_id(db):
    services.register_launch("r", LaunchSeen("wandb", "w1", T0_NS))
    return store.ensure_run("r")


def send(run_id, steps, t0_ns=T0_NS, **more):
    """Rows of attempt 0, the only one their sender knows."""
    body = metric_body(dict.fromkeys(steps, 1.0), t0_ns=t0_ns, **more)
    digest([envelope("metrics", body, run_id=run_id)])


def ranges(run_id):
    return [(a.number, a.parent, a.first_step, a.last_step) for a in store.attempts(run_id)]


def test_later_rows_under_the_old_number_follow(run_id):
    send(run_id, [100, 110])
    send(run_id, [50, 60], LATER_NS)
    send(run_id, [70, 120], LATER_NS)
    assert ranges(run_id) == [(0, None, 100, 110), (1, 0, 50, 120)]
    assert store.attempts(run_id)[1].fork_step == 50


def test_a_second_time_makes_a_grandchild(run_id):
    send(run_id, [100])
    send(run_id, [50], LATER_NS)
    send(run_id, [10], 2 * LATER_NS - T0_NS)
    assert ranges(run_id) == [(0, None, 100, 100), (1, 0, 50, 50), (2, 1, 10, 10)]


def test_the_child_of_an_older_attempt_knows_its_parent(run_id):
    send(run_id, [100])
    services.register_launch("r", LaunchSeen("wandb", "w2", LATER_NS))
    send(run_id, [50], LATER_NS)
    assert [(a.number, a.parent) for a in store.attempts(run_id)] == [(0, None), (1, 0), (2, 0)]


def test_rows_written_before_their_predecessors_find_their_attempt(run_id):
    """Two writers: the batch after the restart overtakes the last one before it."""
    send(run_id, [80, 90])
    send(run_id, [50, 60], LATER_NS)
    send(run_id, [95, 100])
    send(run_id, [70, 80], LATER_NS)
    assert ranges(run_id) == [(0, None, 80, 100), (1, 0, 50, 80)]


def test_a_restart_seen_late_is_the_one_that_is_known(run_id):
    """The batch that holds the restart itself is overtaken by its successor."""
    send(run_id, [90])
    send(run_id, [60, 70], LATER_NS)
    digest([envelope("metrics", crossing(), run_id=run_id)])
    assert ranges(run_id) == [(0, None, 90, 100), (1, 0, 40, 70)]
    assert store.attempts(run_id)[1].fork_step == 40


def crossing():
    bodies = metric_body({100: 1.0}), metric_body({40: 1.0}, t0_ns=LATER_NS)
    rows = [row for body in bodies for row in orjson.loads(body)["rows"]]
    return orjson.dumps({"attempt": 0, "rows": rows})


def test_single_ranks_move_neither_step_nor_attempt(run_id):
    send(run_id, [100])
    send(run_id, [105], rank=3)
    send(run_id, [104], T0_NS + SECOND_NS)
    assert ranges(run_id) == [(0, None, 100, 104)]


def test_a_new_start_does_not_fall_into_the_attempt_its_slot_went_on_with(run_id):
    send(run_id, [100])
    send(run_id, [50], LATER_NS)
    soon_ns = store.attempts(run_id)[1].started_ns + 20 * SECOND_NS
    assert services.register_launch("r", LaunchSeen("wandb", "w2", soon_ns)) == 2
