"""A person asks for the stop of a run; its wandb process hears of it, and no later one does."""

import base64

import orjson
import pytest

from apps.accounts import store as accounts
from apps.ingest.digest import digest
from apps.ingest.envelope import unpack
from apps.ingest.stream import STREAM
from apps.runs import stops
from apps.runs import store as runs

FIRST = {"name": "r1", "project": "p", "host": "h", "program": "train.py", "config": "{}"}
ASKED = {"confirm": "r1", "reason": "wrong data", "idempotency_key": "k1"}
END = {"complete": True, "exitcode": 255}


@pytest.fixture
def wandb(client, token, valkey):
    """The process of attempt `n`: post(body) -> what file_stream answers."""
    packed = base64.b64encode(f"api:{token}".encode()).decode()

    def call(path, body, **headers):
        return client.post(
            path,
            orjson.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Basic {packed}", **headers},
        ).json()

    class Process:
        def __init__(self, n=0):
            said = {**FIRST, "notes": str(n)}
            answer = self.ask("UpsertBucket", said)["data"]["upsertBucket"]["bucket"]
            self.entity = answer["project"]["entity"]["name"]
            self.post({"files": {}, "uploaded": []})

        def ask(self, operation, variables):
            body = {"operationName": operation, "query": "", "variables": variables}
            return call("/graphql", body)

        def post(self, body):
            return call(f"/files/{self.entity}/p/r1/file_stream", body).get("stopped", False)

        def asks(self):
            said = {"projectName": "p", "entityName": self.entity, "runId": "r1"}
            return self.ask("RunStoppedStatus", said)["data"]["project"]["run"]["stopped"]

    return Process


def write(valkey):
    digest([unpack(fields[b"e"]) for _, fields in valkey.xrange(STREAM)])
    valkey.delete(STREAM)


def states(client, token):
    answer = client.get("/api/v1/runs/r1/stops", headers={"Authorization": f"Bearer {token}"})
    return [stop["state"] for stop in answer.json()["items"]]


def test_a_process_hears_of_it_until_it_has_ended(wandb, send, client, token, valkey):
    process = wandb()
    assert (process.post({}), process.asks()) == (False, False)
    assert send("runs/r1/stop", ASKED).json()["state"] == "requested"
    assert (process.post({}), process.asks(), process.post({"files": {}})) == (True, True, True)
    assert states(client, token) == ["delivered"]
    process.post(END)
    write(valkey)
    assert (states(client, token), process.post({})) == (["stopped"], False)


def test_a_process_that_follows_is_not_stopped(wandb, send):
    before = wandb()
    send("runs/r1/stop", ASKED)
    after = wandb(1)
    assert (after.post({}), after.asks(), before.post({})) == (False, False, True)


def test_what_ended_first_was_not_stopped(wandb, send, client, token, valkey):
    process = wandb()
    send("runs/r1/stop", ASKED)
    runs_before = states(client, token)
    stops.end(runs.ensure_run("r1"), 0, 1)
    assert (runs_before, states(client, token)) == (["requested"], ["overtaken"])
    assert process.post({}) is False


def test_the_same_key_is_the_same_request_another_one_is_too_much(wandb, send):
    wandb()
    made = [send("runs/r1/stop", ASKED).json()["number"] for _ in range(2)]
    again = send("runs/r1/stop", {**ASKED, "idempotency_key": "k2"})
    assert (made, again.status_code) == ([1, 1], 409)


def test_it_is_taken_back_before_anybody_was_told(wandb, send, client, token):
    process = wandb()
    send("runs/r1/stop", ASKED)
    assert send("runs/r1/stops/1/cancel", {"reason": "no"}).json()["state"] == "cancelled"
    assert (process.post({}), states(client, token)) == (False, ["cancelled"])
    send("runs/r1/stop", {**ASKED, "idempotency_key": "k2"})
    process.post({})
    assert send("runs/r1/stops/2/cancel", {}).status_code == 400


@pytest.mark.parametrize(("changes", "where"), [
    ({"confirm": "r2"}, "confirm"),
    ({"reason": " "}, "reason"),
    ({"idempotency_key": ""}, "idempotency_key"),
])  # fmt: skip
def test_it_needs_the_run_key_a_reason_and_a_key_of_its_own(wandb, send, changes, where):
    wandb()
    answer = send("runs/r1/stop", {**ASKED, **changes})
    assert (answer.status_code, answer.json()["where"]) == (422, where)


def test_a_run_nobody_listens_for_says_so(send, db):
    runs.open_attempt(runs.ensure_run("r1"), 0, 1)
    answer = send("runs/r1/stop", ASKED)
    assert (answer.status_code, "nobody would hear" in answer.json()["error"]) == (422, True)


def test_every_step_is_in_the_audit_trail(wandb, send):
    process = wandb()
    send("runs/r1/stop", ASKED)
    process.post({})
    rows = [(row.action, row.actor, row.reason) for row in accounts.audit_rows(2)]
    assert rows == [
        ("run.stop_delivered", "system:lastgood", ""),
        ("run.stop_requested", "token:test", "wrong data"),
    ]


def test_a_person_stops_a_run_on_its_page(wandb, operator):
    process = wandb()
    assert b"Stop run" in operator.get("/runs/r1/").content
    asked = {"key": "k", "confirm": "r2", "reason": "wrong data"}
    assert operator.post("/runs/r1/stop/", asked).status_code == 422
    assert operator.post("/runs/r1/stop/", {**asked, "confirm": "r1"}).status_code == 302
    assert b"ada asked attempt 0 to stop" in operator.get("/runs/r1/").content
    process.post({})
    page = operator.get("/runs/r1/").content
    assert b"Attempt 0 was told to stop at" in page
    assert b"wrong data" in operator.get("/runs/r1/stop/").content


def test_a_reader_may_not_stop_anything(wandb, reader):
    wandb()
    assert b"Stop run" not in reader.get("/runs/r1/").content
    assert reader.get("/runs/r1/stop/").status_code == 403
    assert reader.post("/runs/r1/stops/1/cancel/").status_code == 403
