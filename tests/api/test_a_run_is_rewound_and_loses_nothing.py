"""RewindRun and the UpsertBucket that follows it, without the client."""

import base64

import orjson
import pytest

from apps.accounts.store import audit_rows
from apps.core.records import MetricRow
from apps.ingest.store import counters
from apps.ingest.wandb import extras_store, readback
from apps.ingest.wandb.sessions import Told
from apps.ingest.writes import add_rows
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import LaunchSeen, Progress

FIRST = {"name": "r1", "project": "p", "host": "h", "program": "train.py", "config": "{}"}
HOUR_NS = 3600 * 10**9


@pytest.fixture
def ask(client, token, valkey):
    packed = base64.b64encode(f"api:{token}".encode()).decode()

    def send(operation, **variables):
        body = {"operationName": operation, "query": "", "variables": variables}
        headers = {"Authorization": f"Basic {packed}"}
        answer = client.post(
            "/graphql", orjson.dumps(body), content_type="application/json", headers=headers
        )
        assert answer.status_code == 200
        return answer.json()

    return send


@pytest.fixture
def rewind(ask):
    """The run as RewindRun answers it."""

    def send(step, **said):
        moment = {"runName": "r1", "project": "p", "metricName": "_step", "metricValue": step}
        return ask("RewindRun", **{**moment, **said})

    return send


def log(run_id, attempt, steps):
    at_ns = (attempt + 1) * HOUR_NS
    runs.register_launch("r1", LaunchSeen("wandb", str(attempt), at_ns))
    rows = [MetricRow(s, at_ns + s, {"loss": 1.0}, extra={"r": float(s)}) for s in steps]
    add_rows(run_id, attempt, rows, source="test")


@pytest.fixture
def run(db):
    """The run r1 of project p: steps 0-99."""
    run_id = runs_store.ensure_run("r1")
    log(run_id, 0, range(100))
    runs_store.note_progress(run_id, 0, Progress(project="p", config={"lr": 1, "wandb/x": 2}), None)
    return run_id


def branches(run_id):
    return [(a.number, a.parent, a.fork_step) for a in runs_store.attempts(run_id)]


def begin(ask, rewound):
    """The first UpsertBucket of the process that was answered so."""
    return ask("UpsertBucket", **FIRST, id=rewound["data"]["rewindRun"]["rewoundRun"]["id"])


def test_the_client_is_told_where_it_goes_on(rewind, run):
    found = rewind(50)["data"]["rewindRun"]["rewoundRun"]
    assert (found["name"], found["historyLineCount"]) == ("r1", 51)
    assert found["project"] == {
        "id": "p",
        "name": "p",
        "entity": {"id": "lastgood", "name": "lastgood"},
    }
    assert orjson.loads(found["config"]) == {"lr": {"value": 1}}


def test_asking_again_changes_nothing(rewind, run):
    assert rewind(50) == rewind(50.5)
    assert branches(run) == [(0, None, None)]


def test_the_process_has_an_attempt_that_branches_off_at_the_step(ask, rewind, run):
    answer = begin(ask, rewind(50))["data"]["upsertBucket"]["bucket"]
    assert answer["project"]["entity"]["name"] == "lastgood-1"
    assert branches(run) == [(0, None, None), (1, 0, 51)]


def test_a_process_that_asks_again_rewinds_once(ask, rewind, run):
    for _ in range(2):
        begin(ask, rewind(50))
    assert branches(run) == [(0, None, None), (1, 0, 51)]
    assert counters(run)["rewinds"] == 1
    audited = [row for row in audit_rows(10) if row.action == "attempt.rewind"]
    assert [(row.object, row.after["fork_step"]) for row in audited] == [("attempt 1", 51)]


def test_what_lies_beyond_the_step_is_given_up_before_the_first_new_row(ask, rewind, run):
    begin(ask, rewind(50))
    assert readback.last_step(run) == 50
    assert [(s.attempt, s.last) for s in readback.spans(run)] == [(0, 50), (1, None)]


def test_a_process_that_resumes_a_rewound_run_goes_on_behind_its_step(ask, rewind, run):
    begin(ask, rewind(50))
    bucket = ask("RunResumeStatus", name="r1", project="p")["data"]["model"]["bucket"]
    assert orjson.loads(bucket["historyTail"]) == ['{"_step":50}']
    assert (bucket["historyLineCount"], bucket["logLineCount"]) == (51, 0)


def test_a_rewind_of_a_rewound_run_branches_off_from_the_attempt_that_holds_the_step(
    ask, rewind, run
):
    begin(ask, rewind(50))
    log(run, 1, range(51, 61))
    told = [rewind(step)["data"]["rewindRun"]["rewoundRun"]["id"] for step in (30, 55, 90)]
    held = [Told(0, 31, 0, 0, 30), Told(1, 56, 0, 0, 55), Told(0, 91, 0, 0, 90)]
    assert told == [one.packed("r1") for one in held]


@pytest.mark.parametrize(
    "said",
    [
        {"metricValue": 100},
        {"metricValue": -1},
        {"metricValue": 2**53},
        {"metricValue": None},
        {"metricValue": "5"},
        {"metricName": "loss"},
        {"runName": "r2"},
        {"runName": ""},
        {"project": "q"},
    ],
)
def test_a_moment_that_no_attempt_holds_is_refused_under_200(rewind, run, said):
    (error,) = rewind(50, **said)["errors"]
    assert error["message"].startswith("resume_from: ")
    assert branches(run) == [(0, None, None)]


@pytest.mark.parametrize("parent", [1, 7])
def test_an_id_that_was_made_up_moves_no_branch(ask, run, parent):
    ask("UpsertBucket", **FIRST, id=Told(parent, 0, 0, 0, 50).packed("r1"))
    assert branches(run) == [(0, None, None), (1, 0, None)]


def test_lines_are_counted_within_and_across_blocks(run, monkeypatch):
    monkeypatch.setattr(extras_store, "BLOCK_ROWS", 7)
    log(run, 1, range(300, 700))
    counted = [
        extras_store.count_rows(run, 1, *ends) for ends in ((None, None), (303, 500), (9, 9))
    ]
    assert counted == [400, 198, 0]
