import json

import pytest

from apps.core.records import MetricRow
from apps.metrics import store as metrics
from tests.incident_samples import at

PATHS = [
    "runs",
    "runs/boom",
    "runs/boom/attempts",
    "runs/boom/keys",
    "runs/boom/series?keys=train/loss",
    "runs/boom/layers",
    "runs/boom/logs",
    "runs/boom/ranks",
    "runs/boom/patterns",
    "runs/boom/checkpoints",
    "runs/boom/orders",
    "runs/boom/ingest",
    "runs/boom/resume-point",
    "incidents",
    "incidents?run=boom",
    "ingest/quarantine",
    "openapi.json",
]


@pytest.mark.parametrize("path", PATHS)
def test_every_question_is_answered(ask, incident, path):
    metrics.write_rows(
        incident.run_id,
        0,
        [MetricRow(1251, at(1251), {"train/loss": float("nan"), "grad_norm/layers.0": 1e308})],
        source="test",
    )
    answer = ask(path)
    assert (answer.status_code, answer["Content-Type"].split(";")[0]) == (200, "application/json")
    json.loads(answer.content, parse_constant=pytest.fail)


def test_a_run_names_its_attempts(ask, incident):
    run = ask("runs/boom").json()
    assert (run["key"], run["last_step"]) == ("boom", 1249)
    (attempt,) = run["attempts"]
    assert {
        name: attempt[name] for name in ("number", "parent", "fork_step", "first_step", "last_step")
    } == {"number": 0, "parent": None, "fork_step": None, "first_step": 0, "last_step": 1249}


def test_nan_and_infinity_are_listed_apart(ask, incident):
    odd = [MetricRow(1251, at(1251), {"x": float("nan")}), MetricRow(1252, at(1252), {"x": -1e400})]
    metrics.write_rows(incident.run_id, 0, odd, source="test")
    (series,) = ask("runs/boom/series?keys=x").json()["series"]
    assert series["nonfinite"] == [[1251, "NaN"], [1252, "-Infinity"]]
    assert series["step"] == []


def test_the_same_series_is_not_sent_twice(ask, incident):
    first = ask("runs/boom/series?keys=train/loss&from=100&to=200")
    again = ask(
        "runs/boom/series?keys=train/loss&from=100&to=200", **{"If-None-Match": first["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert first.json()["series"][0]["step"][0] == 100


def test_an_incident_comes_with_suspects_and_candidates(ask, incident):
    (item,) = ask("incidents?run=boom").json()["items"]
    assert (item["id"], item["run"], item["page"], item["state"]) == (
        incident.id, "boom", True, "open"
    )  # fmt: skip
    best = item["candidates"][0]
    assert (best["step"], best["eligible"], best["lost_steps"]) == (900, True, 349)
    assert best["reasons"][0]["text"]
    whole = ask(f"incidents/{incident.id}").json()
    movers = whole.pop("movers")
    card = whole.pop("card")
    assert whole | {"movers": None, "card": None} == item
    assert (card["shape"], card["advice"], card["step"]) == ("divergence", "roll back", 900)
    assert card["sentence"].startswith("Suggestion: roll back to step 900. ")
    assert [m["series"] for m in movers["items"]] == ["train/loss"]
    assert (movers["anchor_step"], movers["by_loss"]) == (1001, True)
    weighed = ask(f"incidents/{incident.id}/candidates").json()["items"]
    known = item["candidates"][0].keys()
    assert [{name: one[name] for name in known} for one in weighed] == item["candidates"]


def test_lists_are_paged_by_key(ask, incident):
    from apps.runs import store as runs

    runs.ensure_run("later")
    first = ask("runs?limit=1").json()
    second = ask(f"runs?limit=1&before={first['next']}").json()
    assert [run["key"] for run in (*first["items"], *second["items"])] == ["later", "boom"]


def test_the_documentation_names_every_operation(ask):
    paths = ask("openapi.json").json()["paths"]
    assert "/api/v1/runs/{key}/rollback" in paths
    assert "/api/v1/runs/{key}/resume-point" in paths


def test_the_documentation_page_needs_a_login_and_no_other_host(client, operator):
    page = operator.get("/api/v1/docs")
    assert page.status_code == 200
    assert b"https://" not in page.content
    client.logout()
    assert client.get("/api/v1/docs").status_code == 302
