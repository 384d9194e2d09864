"""The addresses of the `wandb` client, without the client."""

import base64
import gzip

import orjson
import pytest
from django.http import UnreadablePostError

from apps.ingest import services, stream
from apps.ingest.envelope import unpack
from apps.runs import store as runs

STREAM = "/files/lastgood/p/r1/file_stream"
LINES = {"files": {"wandb-history.jsonl": {"offset": 0, "content": ['{"_step":0,"loss":1}']}}}
FIRST = {"name": "r1", "project": "p", "host": "h", "program": "train.py", "config": "{}"}


@pytest.fixture
def post(client, token, valkey):
    def send(path, body, secret=token, **headers):
        packed = base64.b64encode(f"api:{secret}".encode()).decode()
        return client.post(
            path,
            body if isinstance(body, bytes) else orjson.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Basic {packed}", **headers},
        )

    return send


@pytest.fixture
def ask(post):
    def send(operation, **variables):
        body = {"operationName": operation, "query": "", "variables": variables}
        return post("/graphql", body).json()

    return send


def entries(valkey):
    return [unpack(fields[b"e"]) for _, fields in valkey.xrange(stream.STREAM)]


def attempts(key="r1"):
    return [attempt.number for attempt in runs.attempts(runs.ensure_run(key))]


def test_lines_are_durable_before_the_answer(post, ask, valkey):
    ask("UpsertBucket", **FIRST)
    answer = post(STREAM, LINES)
    (kept,) = entries(valkey)
    assert (answer.status_code, answer.json()) == (200, {"exitcode": None, "limits": {}})
    assert (kept.endpoint, kept.attempt, kept.run_key) == ("file_stream", 0, "r1")


def test_packed_bodies_are_kept_packed(post, valkey):
    post(STREAM, gzip.compress(orjson.dumps(LINES)), **{"Content-Encoding": "gzip"})
    assert entries(valkey)[0].encoding == "gzip"


def test_a_heartbeat_only_touches_the_run(post, valkey):
    assert post(STREAM, {}).status_code == 200
    assert entries(valkey) == []
    assert runs.get_run("r1").state == "running"


@pytest.mark.parametrize("body", [LINES, {}, {"complete": True, "exitcode": 0}, b"no JSON"])
@pytest.mark.parametrize("ack", ["always", "commit"])
def test_a_receipt_is_always_an_object(post, settings, ack, body):
    settings.INGEST_ACK = ack
    answer = post(STREAM, body)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert set(answer.json()) == {"exitcode", "limits"}


@pytest.mark.parametrize("path", [STREAM, "/graphql"])
@pytest.mark.parametrize(("said", "status"), [("", 411), ("9" * 12, 413), ("0", 400)])
def test_a_body_of_no_usable_length_is_never_taken_for_a_heartbeat(post, path, said, status):
    assert post(path, {}, **{"Content-Length": said}).status_code == status


def test_a_sender_that_found_no_place_comes_back(ask, client, monkeypatch):
    ask("UpsertBucket", **FIRST)
    made = ask("CreateRunFiles", project="p", run="r1", files=["a"])
    url = made["data"]["createRunFiles"]["files"][0]["uploadUrl"]

    def full(*_):
        raise UnreadablePostError("too many bodies")

    monkeypatch.setattr("django.http.HttpRequest.read", full)
    assert client.put(url, b"x")["Retry-After"] == "1"


def test_a_project_with_a_long_odd_name_stays_the_same_one(ask):
    said = {**FIRST, "project": "p\0" * 150}
    answers = [ask("UpsertBucket", **said) for _ in range(2)]
    assert [answer["data"]["upsertBucket"]["inserted"] for answer in answers] == [True, False]


@pytest.mark.parametrize("secret", ["", "wrong"])
@pytest.mark.parametrize("path", [STREAM, "/graphql"])
def test_a_wrong_key_is_refused(post, valkey, path, secret):
    assert post(path, {}, secret=secret).status_code == 403
    assert entries(valkey) == []


def test_a_client_with_a_wrong_key_is_told_so_where_it_looks(post, db):
    """It prints the messages of `errors`, and "<no message>" without."""
    (error,) = post("/graphql", {}, secret="wrong").json()["errors"]
    assert error["message"].startswith("this API key is not known")
    assert "manage.py token" in error["message"]


@pytest.mark.parametrize("path", [STREAM, "/graphql"])
def test_without_a_key_the_answer_is_401(client, db, path):
    assert client.post(path, b"{}", content_type="application/json").status_code == 401


@pytest.mark.parametrize(("status", "wait"), [(429, 1), (503, 10)])
def test_what_passes_is_never_an_answer_that_ends_the_stream(post, monkeypatch, status, wait):
    def refuse(*_, **__):
        raise services.Refused("busy", status=status, retry_after_s=wait, hint="")

    monkeypatch.setattr(services, "accept", refuse)
    answer = post(STREAM, LINES)
    assert (answer.status_code, answer["Retry-After"]) == (status, str(wait))


def test_a_bad_body_is_kept_aside_even_if_written_at_once(post, settings):
    settings.INGEST_ACK = "commit"
    answer = post(STREAM, {"files": {"x": 1}})
    assert answer.status_code == 200
    assert services.status(runs.ensure_run("r1")).quarantined == 1


def test_the_same_first_request_again_is_the_same_process(ask):
    said = [ask("UpsertBucket", **FIRST)["data"]["upsertBucket"]["inserted"] for _ in range(2)]
    assert (said, attempts()) == ([True, False], [0])


def test_after_its_first_lines_it_is_another_process(ask, post):
    ask("UpsertBucket", **FIRST)
    post(STREAM, LINES)
    ask("UpsertBucket", **FIRST)
    assert attempts() == [0, 1]


def test_later_requests_open_nothing(ask):
    ask("UpsertBucket", **FIRST)
    ask("UpsertBucket", name="r1", project="p", config='{"lr":{"value":1}}')
    assert (attempts(), runs.get_run("r1").config["lr"]) == ([0], 1)


OLD = '{"_wandb":{"desc":null,"value":{"start_time":%d}}}'


@pytest.mark.parametrize(
    ("first", "change"),
    [
        (FIRST, {"id": "r1", "displayName": "another name", "entity": "lastgood"}),
        ({**FIRST, "config": OLD % 1}, {"displayName": "another name", "entity": "lastgood"}),
    ],
    ids=["new client", "old client"],
)
def test_a_change_of_the_name_is_no_other_process(ask, post, first, change):
    ask("UpsertBucket", **first)
    post(STREAM, LINES)
    ask("UpsertBucket", **{**first, **change})
    assert (attempts(), runs.get_run("r1").config["wandb/name"]) == ([0], "another name")


def test_an_old_client_that_starts_again_is_another_process(ask):
    for start in (1, 2):
        ask("UpsertBucket", **{**FIRST, "config": OLD % start})
    assert attempts() == [0, 1]


def test_resuming_waits_for_what_is_not_written(post, ask, monkeypatch):
    monkeypatch.setattr("apps.ingest.wandb.services.PATIENCE_S", 0.0)
    ask("UpsertBucket", **FIRST)
    post(STREAM, LINES)
    asked = {"operationName": "RunResumeStatus", "query": "", "variables": FIRST}
    answer = post("/graphql", asked)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


@pytest.mark.parametrize(
    ("name", "variables"),
    [("CreateArtifact", {}), ("UpsertBucket", {**FIRST, "name": "a/b"})],
)
def test_what_cannot_be_done_is_said_under_200(ask, name, variables):
    assert ask(name, **variables)["errors"][0]["message"]


@pytest.mark.parametrize("name", ["Viewer", "ServerFeaturesQuery", "RunStoppedStatus"])
def test_questions_are_answered(ask, name):
    assert ask(name)["data"]


def test_an_alert_is_durable_before_the_answer(ask, valkey):
    ask("UpsertBucket", **FIRST)
    said = {"runName": "r1", "title": "odd", "text": "look", "severity": "ERROR"}
    answer = ask("NotifyScriptableRunAlert", **said)["data"]
    (kept,) = entries(valkey)
    assert answer == {"notifyScriptableRunAlert": {"success": True}}
    assert (kept.endpoint, kept.attempt) == ("graphql", 0)


def test_an_alert_of_a_run_nobody_knows_is_no_success(ask):
    answer = ask("NotifyScriptableRunAlert", runName="never", title="x")["data"]
    assert answer == {"notifyScriptableRunAlert": {"success": False}}


@pytest.mark.parametrize("path", ["/sdk/otel/v1/metrics", "/sdk/otel/v1/logs"])
def test_telemetry_of_the_client_is_forgotten(client, db, path):
    answer = client.post(path, b"x", content_type="application/x-protobuf")
    assert (answer.status_code, answer.content) == (200, b"")


def test_the_address_the_client_prints_leads_to_the_run(reader):
    answer = reader.get("/lastgood/p/runs/r1")
    assert (answer.status_code, answer["Location"]) == (302, "/runs/r1/")


def test_a_key_has_the_form_the_client_wants():
    from apps.accounts.services import _wandb_secret

    assert len(_wandb_secret().removeprefix("local-")) == 40
