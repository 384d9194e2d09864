"""/projects/<project>/names/ and /api/v1/projects/<project>/names."""

import pytest
from django.utils import timezone

from apps.core.records import MetricRow
from apps.metrics import naming, store
from apps.metrics.domain.layer_rules import Rule
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.incident_samples import at

pytestmark = pytest.mark.django_db
PAGE, API = "/projects/team/llm/names/", "/api/v1/projects/team/llm/names"
VALUES = {"train/loss": 2.5, "odd/objective": 7.25, "x/blk3.mlp": 1.0, "grad_norm/layers.1": 0.5}


@pytest.fixture
def run(db):
    run_id = runs.ensure_run("boat")
    runs.open_attempt(run_id, 0, at(0))
    store.write_rows(run_id, 0, [MetricRow(1, at(1), VALUES)], source="test")
    seen = Progress(first_step=1, last_step=1, project="team/llm")
    runs.note_progress(run_id, 0, seen, timezone.now())
    return run_id


@pytest.fixture
def put(client, token):
    def send(body, secret=token):
        return client.put(
            API, body, content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )  # fmt: skip

    return send


def form(act="save", version=0, **fields):
    return {"version": version, "act": act, "pattern": [], "statistic": [], **fields}


def test_the_page_shows_each_guess_with_its_newest_value(operator, run):
    text = operator.get(PAGE).content.decode()
    assert '<code class="wrap">train/loss</code>' in text
    assert "2.5" in text
    assert "layer 1, grad norm" in text
    assert "all of it guessed from the names" in text


def test_a_correction_counts_at_once_and_is_remembered(operator, run):
    answer = operator.post(PAGE, form(**{"role-loss": "odd/objective", "none-lr": "yes"}))
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert naming.roles_of(run).loss == "odd/objective"
    text = operator.get(PAGE).content.decode()
    assert 'value="odd/objective"' in text
    assert "last changed by ada" in text
    assert b"names.changed" in operator.get("/audit/").content


def test_a_preview_shows_the_effect_and_saves_nothing(operator, run):
    asked = form("preview", pattern=["x/blk{layer}.{module}", "y/{module}"],
                 statistic=["act_max", "act_std"])  # fmt: skip
    text = operator.post(PAGE, asked).content.decode()
    assert "layer 3, mlp, activation max" in text
    assert "Conflicts: two of your rules" not in text
    assert store.naming_of("team/llm").version == 0


def test_two_rules_that_disagree_are_shown_as_a_conflict(operator, run):
    asked = form("preview", pattern=["x/blk{layer}.{module}", "{any}blk{layer}.{any}"],
                 statistic=["act_max", "act_std"])  # fmt: skip
    text = operator.post(PAGE + "?part=effect", asked).content.decode()
    assert "Conflicts: two of your rules" in text
    assert "layer 3, activation std" in text
    assert "<html" not in text


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("{layer}{module}", "two holes touch each other"), ("x/{rank}", "is no hole"),
     ("(a+)+$", "names no place"), ("x" * 201, "1 to 200 characters")],
)  # fmt: skip
def test_a_bad_rule_is_refused_where_it_stands(operator, run, pattern, words):
    answer = operator.post(PAGE, form(pattern=[pattern], statistic=["act_max"]))
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert "rules[0].pattern" in answer.content.decode()


def test_who_was_overtaken_reads_so_and_loses_no_typing(operator, run):
    operator.post(PAGE, form(**{"role-loss": "a"}))
    answer = operator.post(PAGE, form(**{"role-loss": "b"}))
    assert answer.status_code == 409
    assert 'value="b"' in answer.content.decode()
    assert "ada changed these names meanwhile" in answer.content.decode()


def test_a_reader_sees_the_names_but_changes_none(reader, run):
    page = reader.get(PAGE)
    assert (page.status_code, b"needs the scope" in page.content) == (200, True)
    assert reader.post(PAGE, form(**{"role-loss": "x"})).status_code == 403
    assert store.naming_of("team/llm").version == 0


def test_runs_without_a_project_share_a_page(operator, run):
    plain = runs.ensure_run("plain")
    runs.open_attempt(plain, 0, at(0))
    page = operator.get("/projects/-/names/?run=plain").content.decode()
    assert "runs without a project" in page
    assert "There are no names to try the rules on yet" in page
    assert operator.get("/projects/nobody/names/").status_code == 404


def test_the_page_is_linked_from_the_run(operator, run, valkey):
    text = operator.get("/runs/boat/").content.decode()
    assert f'href="{PAGE}?run=boat"' in text


def test_the_api_gives_what_is_said_and_what_counts(ask, run):
    found = ask("projects/team/llm/names").json()
    assert (found["version"], found["roles"], found["run"]) == (0, {}, "boat")
    assert found["counts_now"]["loss"] == "train/loss"


def test_the_api_replaces_everything_that_was_said(put, ask, run):
    body = {"version": 0, "roles": {"loss": "odd/objective", "lr": None},
            "rules": [{"pattern": "x/blk{layer}.{module}", "statistic": "act_max"}]}  # fmt: skip
    found = put(body).json()
    assert (found["version"], found["counts_now"]["loss"]) == (1, "odd/objective")
    assert store.naming_of("team/llm").rules == (Rule("x/blk{layer}.{module}", "act_max"),)
    layers = ask("runs/boat/layers?statistic=act_max").json()
    assert (layers["layers"], layers["series"]) == (["layer 3"], [["x/blk3.mlp"]])
    assert put({"version": 0}).status_code == 409
    assert put({"version": 1}).json()["roles"] == {}


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"version": 0, "roles": {"speed": "x"}}, "roles"),
        ({"version": 0, "rules": [{"pattern": "{layer}"}]}, "rules[0].pattern"),
        ({"version": 0, "rules": [{"pattern": "x{layer}", "statistic": "act_max"}] * 51}, "rules"),
    ],
)
def test_the_api_says_what_is_wrong(put, run, body, where):
    answer = put(body)
    assert (answer.status_code, answer.json()["where"]) == (400, where)


def test_the_api_asks_for_the_scope_operate(put, run):
    from apps.accounts.services import make_token

    assert put({"version": 0}, secret=make_token("eye", ["read"])).status_code == 403
