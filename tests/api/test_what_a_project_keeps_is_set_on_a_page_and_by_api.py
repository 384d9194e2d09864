"""/projects/<project>/kept-logs/ and /api/v1/projects/<project>/log-retention"""

import pytest
from django.utils import timezone

from apps.core.clock import now_ns
from apps.core.sql import execute
from apps.logs import retention
from apps.logs.domain.chunk.retention import DAY_NS, KeepRule
from apps.logs.store import write_lines
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.log_samples import parse

pytestmark = pytest.mark.django_db
PAGE, API = "/projects/team/llm/kept-logs/", "/api/v1/projects/team/llm/log-retention"


@pytest.fixture
def run():
    """Two lines of 40 days ago in attempt 0 of two."""
    run_id = runs.ensure_run("boat")
    seen_ns = now_ns() - 40 * DAY_NS
    for attempt in (0, 1):
        runs.open_attempt(run_id, attempt, seen_ns)
    runs.note_progress(run_id, 0, Progress(project="team/llm"), timezone.now())
    execute("UPDATE runs_run SET created_at = now() - interval '300 days'")
    write_lines(run_id, 0, "n0", [parse("one\ntwo\n", seen_ns=seen_ns)], batch_id="a")
    return run_id


@pytest.fixture
def put(client, token):
    def send(path, body, secret=token):
        headers = {"Authorization": f"Bearer {secret}"}
        return client.put(path, body, content_type="application/json", headers=headers)

    return send


def rule():
    return retention.rule_of("team/llm").rule


def test_a_dry_run_says_what_would_go_and_changes_nothing(put, run):
    answer = put(API, {"days": 30, "dry_run": True}).json()
    (cut,) = answer["would_delete"]
    assert (cut["run"], cut["attempt"], cut["lines"]) == ("boat", 0, 2)
    assert answer["would_delete_bytes"] == answer["size_bytes"] > 0
    assert rule() == KeepRule()


def test_a_rule_is_set_on_what_was_read(put, ask, run):
    assert put(API, {"days": 30, "reason": "disk"}).status_code == 200
    assert put(API, {"days": 3}).status_code == 409
    read = ask("projects/team/llm/log-retention").json()
    assert (read["days"], read["changed_by"]) == (30, "test")
    back = {"default": True, "changed_at_ns": read["changed_at_ns"]}
    assert put(API, back).json()["days"] is None
    assert put(API, {"days": 0}).status_code == 400


def test_a_pin_is_set_and_shown(put, ask, run):
    put(API, {"days": 30})
    answer = put("/api/v1/runs/boat/attempts/0/pin", {"pinned": True}).json()
    assert answer == {"run": "boat", "pinned": [0], "deleted": []}
    assert ask("projects/team/llm/log-retention").json()["spared"][0]["why"] == "pinned"
    assert retention.expire((), now_ns(), 9.0).total() == 0
    put("/api/v1/runs/boat/attempts/0/pin", {"pinned": False})
    assert retention.expire((), now_ns(), 9.0).total() == 2
    (gone,) = ask("runs/boat/log-retention").json()["deleted"]
    assert (gone["attempt"], gone["lines"]) == (0, 2)


def test_who_may_not_operate_changes_nothing(client, put, run):
    from apps.accounts.services import make_token

    reader = make_token("reader", ["read"])
    assert put(API, {"days": 30}, secret=reader).status_code == 403
    assert put("/api/v1/runs/boat/attempts/0/pin", {"pinned": True}, reader).status_code == 403
    assert rule() == KeepRule()


def test_the_page_tries_a_rule_and_saves_it(operator, run):
    tried = operator.post(PAGE, {"days": "30", "gib": "", "act": "try", "seen": "0"})
    assert b"This would delete" in tried.content
    assert b"of 1 run, about 2 lines" in tried.content
    assert rule() == KeepRule()
    saved = operator.post(PAGE, {"days": "30", "gib": "0.5", "act": "save", "seen": "0"})
    assert (saved.status_code, saved["Location"]) == (302, PAGE)
    assert rule() == KeepRule(30, 1 << 29)
    text = operator.get(PAGE).content.decode()
    assert "last changed by ada" in text
    assert b"log_retention.changed" in operator.get("/audit/").content


def test_the_page_pins_and_unpins(operator, run):
    operator.post(PAGE, {"days": "30", "act": "save", "seen": "0"})
    operator.post("/runs/boat/attempts/0/pin/", {"pinned": "yes"})
    assert "Kept in spite of the rule" in operator.get(PAGE).content.decode()
    operator.post("/runs/boat/attempts/0/pin/", {"pinned": "no"})
    assert "Kept in spite of the rule" not in operator.get(PAGE).content.decode()


@pytest.mark.parametrize("field", [{"days": "-1"}, {"days": "many"}, {"gib": "0"}, {"gib": "nan"}])
def test_a_form_that_makes_no_sense_says_why(operator, run, field):
    answer = operator.post(PAGE, {"act": "save", "seen": "0", **field})
    assert answer.status_code == 400
    assert b'role="alert"' in answer.content
