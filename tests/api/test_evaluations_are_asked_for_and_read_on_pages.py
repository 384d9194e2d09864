"""/runs/<key>/evaluations/, /projects/<project>/evaluations/ and the API of jobs."""

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import evaluating, jobs_store, suites
from apps.checkpoints.domain.evaluating import How, Suite
from apps.checkpoints.evaluating import Ended
from apps.core.clock import now_ns
from apps.dashboard.deck import DeckAsk, deck
from apps.runs import store as runs
from tests.evaluation_samples import checkpoint

pytestmark = pytest.mark.django_db
PAGE, SUITES, API = "/runs/boom/evaluations/", "/projects/-/evaluations/", "runs/boom/evaluations"
PROGRAM = "/opt/eval/run"
FORM = {
    "name": "nightly", "argv": f"{PROGRAM}\n{{checkpoint}}\n{{output}}\n", "minutes": "90",
    "tries": "3", "every_steps": "1,000", "enabled": "yes",
}  # fmt: skip


@pytest.fixture(autouse=True)
def allowed(settings, incident):
    settings.EVALUATION_PROGRAMS = [PROGRAM]


@pytest.fixture
def suite():
    return suites.add("", Suite("nightly", (PROGRAM, "{output}")), SYSTEM, now_ns())


@pytest.fixture
def run_id(suite):
    run_id = runs.ensure_run("boom")
    checkpoint(run_id, 900)
    return run_id


def push(send, step, value):
    score = {"task": "mmlu", "metric": "acc", "value": value, "higher_is_better": True}
    send(API, {"suite": "nightly", "step": step, "scores": [score | {"stderr": 0.004}]})


def test_an_administrator_sets_a_suite_changes_it_and_takes_it_away(operator):
    assert b"There is none." in operator.get(SUITES).content
    assert operator.post(SUITES, FORM).status_code == 302
    (info,) = jobs_store.suites("")
    assert (info.suite.argv, info.suite.timeout_s) == ((PROGRAM, "{checkpoint}", "{output}"), 5_400)
    assert (info.suite.tries, info.suite.every_steps) == (3, 1_000)
    address = f"{SUITES}?suite={info.id}"
    assert b"{checkpoint}\n{output}</textarea>" in operator.get(address).content
    assert operator.post(address, FORM | {"tries": "1", "version": "1"}).status_code == 302
    assert operator.post(address, FORM | {"tries": "2", "version": "1"}).status_code == 409
    assert jobs_store.suites("")[0].suite.tries == 1
    assert operator.post(f"{SUITES}{info.id}/remove/").status_code == 302
    assert jobs_store.suites("") == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"argv": "/bin/sh\n-c\nid {output}"}, "is no program that may run here"),
        ({"argv": f"{PROGRAM}\n{{secret}}\n{{output}}"}, "is not known"),
        ({"minutes": "soon"}, "timeout_s"),
        ({"every_steps": "often"}, "every_steps"),
    ],
)
def test_the_form_says_what_is_wrong_and_keeps_what_was_typed(operator, fields, told):
    answer = operator.post(SUITES, FORM | fields)
    assert (answer.status_code, jobs_store.suites("")) == (400, [])
    assert told in answer.content.decode()
    assert 'value="nightly"' in answer.content.decode()


def test_who_may_not_set_suites_is_offered_no_form(reader):
    assert b"needs the scope" in reader.get(SUITES).content
    assert reader.post(SUITES, FORM).status_code == 403


def test_a_checkpoint_is_asked_for_on_the_page_and_taken_back(operator, run_id, suite):
    assert b"Nothing was evaluated in the background." in operator.get(PAGE).content
    asked = {"checkpoint": "0-900", "suite": str(suite.id)}
    assert operator.post(PAGE, asked).status_code == 302
    (job,) = jobs_store.jobs(run_id)
    assert "Waiting" in operator.get(PAGE).content.decode()
    assert operator.post(f"{PAGE}{job.id}/cancel/").status_code == 302
    assert "taken back by ada" in operator.get(f"{PAGE}{job.id}/").content.decode()


@pytest.mark.parametrize("asked", [{}, {"checkpoint": "0-901", "suite": "1"}, {"checkpoint": "x"}])
def test_a_wrong_question_is_answered_with_a_reason(operator, run_id, asked):
    assert operator.post(PAGE, asked).status_code in (400, 404)
    assert jobs_store.jobs(run_id) == []


def test_what_a_command_prints_is_text_on_its_page(operator, run_id, suite):
    job = evaluating.ask(run_id, 0, 900, suite.id, SYSTEM, now_ns=now_ns())
    held = evaluating.claim("gpu-1/7", now_ns())
    ended = Ended(How.EXIT, "the command ended with exit code 3", 3, b"<b>boom\x00</b>\n", 13)
    evaluating.finish(held, ended, now_ns(), lambda: None)
    text = operator.get(f"{PAGE}{job.id}/").content.decode()
    assert "exit code 3" in text and "&lt;b&gt;boom\ufffd&lt;/b&gt;" in text
    assert operator.get(f"{PAGE}999999/").status_code == 404


def test_scores_stand_on_the_page_the_deck_and_beside_their_checkpoint(operator, send, run_id):
    push(send, 900, 0.61)
    assert b">best<" not in operator.get("/runs/boom/checkpoints/").content
    push(send, 950, 0.5)
    text = operator.get(PAGE).content.decode()
    assert "0.61" in text and 'href="#s900"' in text
    lanes = deck(runs.get_run("boom"), DeckAsk())["lanes"]
    (lane,) = [lane for lane in lanes if lane["name"] == "Evaluations"]
    assert [(i["x"], i["shape"]) for i in lane["items"]] == [(900, "diamond"), (950, "circle")]
    assert lane["items"][0]["text"] == ("evaluated at step 900: mmlu acc 0.61 ± 0.004 (best)")
    listed = operator.get("/runs/boom/checkpoints/").content.decode()
    assert "0.61" in listed and ">best<" in listed


def test_programs_ask_follow_and_cancel(ask, send, run_id):
    job = send(f"{API}/jobs", {"suite": "nightly", "step": 900}).json()
    assert (job["state"], job["attempt"]) == ("waiting", 0)
    assert ask(f"{API}/jobs").json()["items"] == [job]
    assert ask(f"{API}/jobs/{job['id']}").json()["log"] == ""
    assert send(f"{API}/jobs/{job['id']}/cancel", {}).json()["state"] == "cancelled"
    assert send(f"{API}/jobs", {"suite": "weekly", "step": 900}).status_code == 404
    assert ask(f"{API}/jobs/999999").status_code == 404


def test_programs_set_suites_with_the_scope_admin(ask, send, client, token):
    from apps.accounts.services import make_token

    admin = make_token("root", ["read", "admin"])
    body = {"name": "nightly", "argv": [PROGRAM, "{output}"], "tries": 1}
    assert send("projects/-/suites", body).status_code == 403
    made = send("projects/-/suites", body, secret=admin).json()
    assert (made["tries"], made["version"], made["changed_by"]) == (1, 1, "root")
    assert ask("projects/-/suites").json() == {"items": [made], "programs": [PROGRAM]}
    key = {"Authorization": f"Bearer {admin}"}
    address = f"/api/v1/projects/-/suites/{made['id']}"
    changed = body | {"version": 1, "every_steps": 500}
    answers = [
        client.put(address, changed, content_type="application/json", headers=key) for _ in (1, 2)
    ]
    assert [answer.status_code for answer in answers] == [200, 409]
    assert (
        client.delete(f"/api/v1/projects/other/suites/{made['id']}", headers=key).status_code == 404
    )
    assert client.delete(address, headers=key).json()["every_steps"] == 500
    assert ask("projects/-/suites").json()["items"] == []
