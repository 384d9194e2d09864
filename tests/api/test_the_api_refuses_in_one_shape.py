import pytest
from django.test import Client

from apps.accounts.services import make_token

SHAPE = {"error", "where", "hint", "docs"}
ORDER = {"step": 900, "confirm": "900", "reason": "spike", "idempotency_key": "k1"}


def check(answer, status):
    assert (answer.status_code, set(answer.json())) == (status, SHAPE)
    return answer.json()


@pytest.mark.parametrize("path", ["runs", "runs/boom/resume-point", "nothing/here"])
def test_without_proof_or_place(client, db, path):
    check(client.get(f"/api/v1/{path}"), 404 if path == "nothing/here" else 401)


def test_an_unknown_token(ask, db):
    assert "unknown or revoked" in check(ask("runs", secret="lg_wrong"), 401)["error"]


def test_a_token_without_the_scope(send, incident):
    reader = make_token("reader", ["read"])
    answer = check(send("runs/boom/rollback", ORDER, secret=reader), 403)
    assert answer["error"] == 'this needs the scope "operate"'


@pytest.mark.parametrize(
    "path", ["runs/nobody", "runs/nobody/series?keys=x", "incidents/987654", "runs/nobody/ingest"]
)
def test_what_is_not_there(ask, db, path):
    check(ask(path), 404)


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("runs?limit=many", "query.limit"),
        ("runs/boom/series", "query.ask.keys"),
        ("runs/boom/series?keys=train/loss&from=soon", "query.from"),
        ("runs/boom/series?keys=,", "query.keys"),
        ("runs/boom/logs?severity=loud", "query.severity"),
    ],
)
def test_a_wrong_question_names_the_field(ask, incident, path, where):
    answer = ask(path)
    assert answer.status_code in (400, 422)
    assert answer.json()["where"].replace(".ask", "") == where.replace(".ask", "")


def test_a_wrong_body_names_the_field(send, incident):
    answer = check(send("runs/boom/rollback", {**ORDER, "step": "soon"}), 422)
    assert answer["where"] == "body.step"


def test_a_body_that_is_no_json(send, incident):
    answer = check(send("runs/boom/rollback", b"{step: 900}"), 400)
    assert answer["error"].startswith("the body is not JSON")


def test_a_wrong_confirmation(send, incident):
    answer = check(send("runs/boom/rollback", {**ORDER, "confirm": "9000"}), 422)
    assert (answer["where"], answer["hint"]) == ("confirm", "type 900")


def test_a_checkpoint_after_the_onset(send, incident):
    answer = check(send("runs/boom/rollback", {**ORDER, "step": 1050, "confirm": "1050"}), 422)
    assert "saved at or after the onset" in answer["error"]


def test_a_session_without_the_csrf_header(incident, operator):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    answer = strict.post("/api/v1/runs/boom/rollback", ORDER, content_type="application/json")
    assert "CSRF" in check(answer, 403)["error"]


def test_a_session_that_may_only_read(incident, reader):
    answer = reader.post("/api/v1/runs/boom/rollback", ORDER, content_type="application/json")
    check(answer, 403)
