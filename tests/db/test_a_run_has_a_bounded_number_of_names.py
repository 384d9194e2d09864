"""A number inside a metric name makes a series of every point: refused with a reason."""

import orjson
import pytest

from apps.ingest import store
from apps.ingest.digest import digest
from apps.metrics import store as metrics
from apps.metrics.store import names
from apps.runs import store as runs
from tests.factories import envelope


@pytest.fixture
def run_id(db, monkeypatch):
    monkeypatch.setattr(names, "MAX_NAMES", 10)
    return runs.ensure_run("r")


def send(run_id, step, first, last):
    values = {f"loss_of_{n}": 1.0 for n in range(first, last)}
    body = orjson.dumps({"rows": [{"step": step, "values": values}]})
    return digest([envelope("metrics", body, run_id=run_id)])


def test_beyond_the_bound_nothing_of_the_body_is_stored(run_id):
    assert send(run_id, 1, 0, 10).written == 1
    assert send(run_id, 2, 5, 11).quarantined == 1
    assert "more than 10 metric names" in store.quarantined(1)[0].reason
    assert len(metrics.keys(run_id)) == 10
    assert {key.last_step for key in metrics.keys(run_id)} == {1}


def test_known_names_are_taken_on(run_id):
    send(run_id, 1, 0, 10)
    send(run_id, 2, 5, 11)
    assert send(run_id, 3, 2, 9).written == 1


def test_another_run_has_names_of_its_own(run_id):
    send(run_id, 1, 0, 10)
    assert send(runs.ensure_run("other"), 1, 20, 30).written == 1
