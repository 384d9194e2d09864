"""Configuration, summary and sets of names: a sender gone wrong costs a bounded amount."""

import orjson
import pytest
from django.db import transaction
from django.utils import timezone

from apps.ingest import store as ingest
from apps.ingest.digest import digest
from apps.ingest.metrics.parse import MAX_KEYS
from apps.metrics import store as metrics
from apps.metrics.models import Keyset
from apps.metrics.store import names
from apps.runs import said, services, store
from apps.runs.records import Progress
from tests.factories import envelope

LARGE = {"text": "x" * said.MAX_SAID_BYTES}


@pytest.fixture
def run_id(db):
    found = store.ensure_run("r")
    with transaction.atomic():
        services.settle_attempt(found, 0, 1)
    return found


def say(run_id, **what):
    return store.note_progress(run_id, 0, Progress(**what), timezone.now())


def test_what_is_too_large_is_named_and_the_rest_stays(run_id):
    assert say(run_id, config={"lr": 1}, summary={"loss": 2}) == []
    assert say(run_id, config=LARGE, summary=LARGE) == ["summary", "config"]
    assert store.get_run("r").config == {"lr": 1}


def test_many_small_statements_cannot_grow_without_end(run_id, monkeypatch):
    monkeypatch.setattr(said, "MAX_SAID_BYTES", 2_000)
    lost = [bool(say(run_id, config={f"key_{at}": "x" * 100})) for at in range(40)]
    assert lost == [False] * lost.index(True) + [True] * (40 - lost.index(True))
    assert len(orjson.dumps(store.get_run("r").config)) < 2_500


def test_a_body_with_such_a_summary_is_written_and_counts_it(run_id):
    line = orjson.dumps({"_step": 1, "loss": 2.0}).decode()
    files = {
        "wandb-history.jsonl": {"offset": 0, "content": [line]},
        "wandb-summary.json": {"offset": 0, "content": [orjson.dumps(LARGE).decode()]},
    }
    done = digest([envelope("file_stream", orjson.dumps({"files": files}), run_id=run_id)])
    assert (done.written, done.quarantined) == (1, 0)
    counted = ingest.counters(run_id)
    assert (counted["points"], counted["skipped: summary too large"]) == (1, 1)


def test_a_wandb_body_has_a_bounded_number_of_names(run_id):
    line = orjson.dumps({"_step": 1, **{f"loss_of_{n}": 1.0 for n in range(MAX_KEYS + 1)}}).decode()
    files = {"wandb-history.jsonl": {"offset": 0, "content": [line]}}
    done = digest([envelope("file_stream", orjson.dumps({"files": files}), run_id=run_id)])
    assert (done.written, done.quarantined) == (0, 1)
    assert "more than 20000 different names" in ingest.quarantined(1)[0].reason


def send(run_id, step, *logged):
    values = dict.fromkeys(logged, float(step))
    body = orjson.dumps({"rows": [{"step": step, "values": values}]})
    return digest([envelope("metrics", body, run_id=run_id)]).written


def test_ever_new_sets_of_names_are_stored_name_by_name(run_id, monkeypatch):
    monkeypatch.setattr(names, "MAX_KEYSETS", 3)
    logged = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"), ("a", "d"), ("a", "b")]
    assert [send(run_id, step, *some) for step, some in enumerate(logged)] == [1] * 6
    assert Keyset.objects.filter(run_id=run_id).count() == 3 + len("abcd")
    found = {
        key: metrics.read_rows(run_id, 0, [key], None, None)[key][0].tolist() for key in "abcd"
    }
    assert found == {"a": [0, 1, 3, 4, 5], "b": [0, 2, 3, 5], "c": [1, 2, 3], "d": [4]}
