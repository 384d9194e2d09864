"""The read operations of `wandb.Api` without the client: scopes, bounds, attempts, odd requests."""

import base64
import json

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.services import make_token
from apps.core.records import MetricRow
from apps.ingest.wandb import downloads, readback, uploads
from apps.ingest.wandb.parse import SystemSample
from apps.ingest.wandb.reading import READS
from apps.ingest.writes import add_rows, add_system
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import LaunchSeen, Progress

RUN = {"project": "p", "entity": "lastgood", "name": "r1", "run": "r1", "runName": "r1"}


@pytest.fixture
def ask(client, db, valkey, fresh_caches):
    keys = {}

    def send(operation, scope="read", query="", **variables):
        key = keys.setdefault(scope, make_token(scope, [scope]))
        packed = base64.b64encode(f"api:{key}".encode()).decode()
        body = {"operationName": operation, "query": query, "variables": {**RUN, **variables}}
        return client.post(
            "/graphql",
            orjson.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Basic {packed}"},
        )

    return send


@pytest.fixture
def run(db):
    """The run r1 of project p: steps 0-9, then a second start that went on from step 6 to 7."""
    run_id = runs_store.ensure_run("r1")
    for number, steps in ((0, range(10)), (1, range(6, 8))):
        at_ns = (number + 1) * 10**15
        runs.register_launch("r1", LaunchSeen("wandb", str(number), at_ns))
        rows = [MetricRow(s, at_ns + s * 10**9, {"loss": float(number)}) for s in steps]
        add_rows(run_id, number, rows, source="test")
    runs_store.note_progress(run_id, 1, Progress(project="p"), None)
    return run_id


def history(answer):
    rows = [json.loads(line) for line in answer.json()["data"]["project"]["run"]["history"]]
    return [(row["_step"], row["loss"]) for row in rows]


@pytest.mark.parametrize("operation", sorted([*READS, "RunFiles"]))
def test_a_key_that_may_only_send_reads_nothing_whether_it_exists_or_not(ask, run, operation):
    for name in ("r1", "nothing"):
        answer = ask(operation, scope="ingest", name=name)
        assert (answer.status_code, "data" in answer.json()) == (403, False)


@pytest.mark.parametrize("operation", ["UpsertBucket", "CreateRunFiles", "RunResumeStatus"])
def test_a_key_that_may_only_read_changes_nothing(ask, run, operation):
    assert ask(operation).status_code == 403


def test_what_the_newest_attempt_took_over_is_history_and_what_was_abandoned_is_not(ask, run):
    wanted = [(step, 0) for step in range(6)] + [(6, 1), (7, 1)]
    assert history(ask("HistoryPage", minStep=0, maxStep=100, pageSize=100)) == wanted
    assert history(ask("HistoryPage", minStep=5, maxStep=7)) == wanted[5:7]
    assert history(ask("RunFullHistory", samples=100)) == wanted
    assert readback.last_step(run) == 7


def test_of_a_long_history_samples_come_from_tiers(ask, run, monkeypatch):
    monkeypatch.setattr(readback, "MAX_POINTS", 1)
    found = history(ask("RunFullHistory", samples=100))
    assert found == [(step, 0) for step in range(6)] + [(6, 1), (7, 1)]


def test_a_page_that_is_too_large_is_refused_and_not_cut(ask, run, monkeypatch):
    monkeypatch.setattr(readback, "MAX_POINTS", 1)
    answer = ask("HistoryPage", minStep=0, maxStep=100).json()
    assert "page_size" in answer["errors"][0]["message"]


def test_both_ends_of_a_page_of_keys_are_included(ask, run):
    spec = json.dumps({"keys": ["_step", "loss", "_step"], "minStep": 5, "maxStep": 7})
    answer = ask("SampledHistoryPage", spec=spec).json()
    assert answer["data"]["project"]["run"]["sampledHistory"] == [
        [{"_step": 5, "loss": 0}, {"_step": 6, "loss": 1}, {"_step": 7, "loss": 1}]
    ]


@pytest.mark.parametrize(
    ("name", "project"), [("r2", "p"), ("r1", "other"), ("", "p"), ("r1\x00", "p")]
)
def test_a_run_that_is_not_there_is_null(ask, run, name, project):
    answer = ask("Run", name=name, project=project)
    assert answer.json()["data"] == {"project": {"run": None}}


def test_a_project_without_runs_is_null(ask, run):
    assert ask("Runs", project="other").json()["data"] == {"project": None}
    assert ask("GetProject", name="other").json()["data"] == {"project": None}


@pytest.mark.parametrize(
    ("operation", "variables"),
    [
        ("HistoryPage", {"minStep": "x"}),
        ("SampledHistoryPage", {"spec": "{"}),
        ("SampledHistoryPage", {"spec": '{"keys": 3}'}),
        ("RunSampledHistory", {"specs": ["{}", "{}"]}),
        ("RunConsoleLogPage", {"after": "x"}),
        ("Runs", {"filters": '{"color": 1}'}),
        ("Runs", {"perPage": "x"}),
        ("RunFiles", {"fileNames": 3}),
    ],
)
def test_what_is_malformed_is_said_under_200(ask, run, operation, variables):
    answer = ask(operation, **variables)
    assert (answer.status_code, bool(answer.json()["errors"][0]["message"])) == (200, True)


def test_pages_of_runs_follow_their_cursors(ask, run):
    for name in ("r2", "r3"):
        run_id = runs_store.ensure_run(name)
        runs.settle_attempt(run_id, None, 1)
        runs_store.note_progress(run_id, 0, Progress(project="p"), None)
    seen, cursor = [], None
    for _ in range(3):
        page = ask("Runs", perPage=1, cursor=cursor).json()["data"]["project"]
        (edge,) = page["runs"]["edges"]
        seen, cursor = [*seen, edge["node"]["name"]], edge["cursor"]
        assert page["runCount"] == 3
    assert (seen, page["runs"]["pageInfo"]["hasNextPage"]) == (["r1", "r2", "r3"], False)


def test_a_page_of_runs_costs_the_same_statements_however_many(ask, run, django_assert_num_queries):
    ask("Runs")
    with CaptureQueriesContext(connection) as one:
        ask("Runs", cursor="²")
    for number in range(9):
        run_id = runs_store.ensure_run(f"more{number}")
        runs_store.note_progress(run_id, 0, Progress(project="p"), None)
    with django_assert_num_queries(len(one)):
        assert len(ask("Runs").json()["data"]["project"]["runs"]["edges"]) == 10


def test_projects_are_paged_by_name(ask, run):
    runs_store.ensure_run("loose")
    first = ask("GetProjects", perPage=1).json()["data"]["models"]
    second = ask("GetProjects", cursor=first["pageInfo"]["endCursor"]).json()["data"]["models"]
    assert [e["node"]["name"] for e in (*first["edges"], *second["edges"])] == [
        "p",
        "uncategorized",
    ]


def test_a_comment_before_the_operation_hides_it_not(ask, run):
    assert ask(None, query="#graphql\n  query RunState($x: Int) {}").json()["data"] == {
        "project": {"run": {"state": "pending"}}
    }


@pytest.fixture
def files(run):
    for name in ("config.yaml", "requirements.txt", "wandb-metadata.json"):
        uploads.keep(run, 1, name, name.encode() * 2)
    return run


def listed(ask, **variables):
    found = ask("RunFiles", **variables).json()["data"]["project"]["run"]
    assert found["fileCount"] == len(found["files"]["edges"])
    return {edge["node"]["name"]: edge["node"] for edge in found["files"]["edges"]}


def test_kept_files_are_listed_and_read_by_their_address(ask, files, client):
    nodes = listed(ask)
    assert list(nodes) == ["config.yaml", "requirements.txt", "wandb-metadata.json"]
    answer = client.get(nodes["config.yaml"]["url"])
    assert (answer.status_code, answer.content) == (200, b"config.yamlconfig.yaml")
    assert answer["Content-Disposition"] == "attachment"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"fileNames": ["config.yaml", "none"]}, ["config.yaml"]),
        ({"pattern": "%.json"}, ["wandb-metadata.json"]),
        ({"pattern": "c%"}, ["config.yaml"]),
        ({"pattern": "config_yaml"}, ["config.yaml"]),
        ({"pattern": "yaml"}, []),
        ({"fileCursor": "requirements.txt"}, ["wandb-metadata.json"]),
    ],
)
def test_files_are_chosen_by_name_or_pattern(ask, files, asked, names):
    assert list(listed(ask, **asked)) == names


def test_an_address_that_was_changed_or_is_old_gives_nothing(ask, files, client, monkeypatch):
    url = listed(ask)["config.yaml"]["url"]
    assert client.get(f"{url}x").status_code == 403
    assert client.post(url).status_code == 405
    monkeypatch.setattr(downloads, "LIFE_S", -1)
    assert client.get(url).status_code == 403


def test_system_metrics_hold_nothing_of_the_history(ask, run):
    row = MetricRow(7, 3 * 10**15, {"loss": 1.0}, extra={"o": {"text": "x"}})
    add_rows(run, 1, [row], source="test")
    add_system(run, 1, [SystemSample(10**15, {"system/cpu": 5.0})])
    query = "query RunFullHistory { project { run { events(samples: $samples) } } }"
    answer = ask("RunFullHistory", query=query, samples=100).json()
    lines = answer["data"]["project"]["run"]["events"]
    assert [json.loads(line) for line in lines] == [
        {"system.cpu": 5, "_timestamp": 1e6, "_wandb": True}
    ]
