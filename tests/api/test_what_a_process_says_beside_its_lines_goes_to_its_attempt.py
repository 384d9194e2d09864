"""Alerts, files and artifacts of a `wandb` process: to its own attempt, lost by no refusal."""

import base64
import json

import orjson
import pytest

from apps.ingest import services, stream
from apps.ingest.envelope import unpack
from apps.ingest.store import counters
from apps.ingest.wandb import artifacts_store, copies
from apps.ingest.wandb import process_store as processes
from apps.runs import store as runs
from tests.artifact_door import ASKED, FIRST

COPIED = FIRST | {"program": "/usr/bin/wandb"}
LINE = json.dumps({"_step": 0, "_timestamp": 1.7e9, "_runtime": 1.0, "loss": 1})
LINES = {"files": {"wandb-history.jsonl": {"offset": 0, "content": [LINE]}}}
ALERT = {"projectName": "p", "runName": "r1", "title": "odd", "text": "t", "severity": "WARN"}
COPY = "lastgood-sync-1"


@pytest.fixture
def post(client, token, valkey, fresh_caches):
    basic = base64.b64encode(f"api:{token}".encode()).decode()

    def send(path, body, **headers):
        said = {"Authorization": f"Basic {basic}", **headers}
        return client.post(path, orjson.dumps(body), "application/json", headers=said)

    return send


@pytest.fixture
def ask(post):
    def send(operation, writer="", **variables):
        body = {"operationName": operation, "query": "", "variables": variables}
        return post("/graphql", body, **({"X-Wandb-Client-Id": writer} if writer else {}))

    return send


@pytest.fixture
def alerts(valkey):
    def waiting():
        found = [unpack(fields[b"e"]) for _, fields in valkey.xrange(stream.STREAM)]
        return [(e.attempt, e.writer) for e in found if e.endpoint == "graphql"]

    return waiting


def test_an_alert_of_a_copy_survives_a_full_stream(post, ask, alerts, monkeypatch):
    ask("UpsertBucket", **COPIED)
    ask("NotifyScriptableRunAlert", **ALERT, entityName=COPY)
    accept, full = services.accept, services.Refused("full", status=503, retry_after_s=1, hint="")
    answers = iter([full])

    def refuse_once(*args, **kwargs):
        for refusal in answers:
            raise refusal
        accept(*args, **kwargs)

    monkeypatch.setattr(services, "accept", refuse_once)
    path = f"/files/{COPY}/p/r1/file_stream"
    assert [post(path, LINES).status_code for _ in range(3)] == [503, 200, 200]
    assert alerts() == [(0, "sync-1")]


def test_alerts_of_a_copy_that_find_no_room_are_counted(ask, monkeypatch):
    monkeypatch.setattr(processes, "MAX_HELD", 1)
    ask("UpsertBucket", **COPIED)
    for _ in range(3):
        ask("NotifyScriptableRunAlert", **ALERT, entityName=COPY)
    counted = counters(runs.ensure_run("r1"))
    assert (counted["wandb_alerts"], counted["alerts_not_kept"]) == (2, 2)


def test_an_alert_of_one_of_several_writers_goes_to_their_attempt(ask, alerts):
    ask("UpsertBucket", **FIRST)
    runs.begin_earlier(runs.ensure_run("r1"), 0, 1)
    ask("UpsertBucket", writer="w1", **FIRST)
    ask("NotifyScriptableRunAlert", writer="w1", **ALERT, entityName="lastgood-1")
    assert alerts() == [(1, "w1")]


@pytest.mark.parametrize(
    ("operation", "variables"),
    [
        ("CreateRunFiles", {"entity": COPY, "run": "r1", "files": ["config.yaml", "media/a"]}),
        ("CreateArtifact", {"input": ASKED | {"entityName": COPY}}),
    ],
)
def test_what_a_copy_uploads_waits_for_its_attempt(ask, monkeypatch, operation, variables):
    ask("UpsertBucket", **FIRST)
    ask("UpsertBucket", **COPIED)
    answer = ask(operation, **variables)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert counters(runs.ensure_run("r1")) == {}
    monkeypatch.setattr(copies, "UPLOAD_PATIENCE_NS", 0)
    assert ask(operation, **variables).json()["data"]


def test_an_artifact_of_a_copy_belongs_to_the_process_it_repeats(ask):
    for number in range(2):
        ask("UpsertBucket", **FIRST)
        processes.hear(runs.ensure_run("r1"), number, "", 1, lines=True)
    ask("UpsertBucket", **COPIED)
    run_id = runs.ensure_run("r1")
    copy = processes.copy(run_id, 1)
    processes.bind_copy(run_id, copies.replace(copy, attempt=0))
    ask("CreateArtifact", input=ASKED | {"entityName": COPY})
    assert [found.attempt for found in artifacts_store.artifacts(run_id)] == [0]
