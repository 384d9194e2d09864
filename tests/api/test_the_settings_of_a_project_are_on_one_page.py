"""The settings of a project on one page, and what the site keeps for how long."""

import pytest

from apps.accounts.records import SYSTEM
from apps.logs import retention
from apps.logs.domain.chunk.retention import KeepRule
from apps.rollbacks import policies
from apps.runs import store as runs
from apps.runs.records import Progress


@pytest.fixture
def project(db, valkey):
    run_id = runs.ensure_run("r")
    runs.note_progress(run_id, 0, Progress(project="llm"), None)


def said(page):
    return {entry.word: entry.says for entry, _ in page.context["entries"]}


def test_nothing_said_is_said(reader, project):
    page = reader.get("/settings/projects/llm/")
    assert said(page) == {
        "Metric names": "roles and layers are guessed",
        "Detectors": "as built in",
        "Numbers of ranks": "no pattern",
        "Fault classes": "as built in",
        "Kept logs": "for ever, as the site says",
        "Labels of shippers": "built-in conventions",
        "Rollback rules": "usual margin, one person",
        "Evaluations": "no suite: nothing is evaluated by itself",
        "Alerts": "0 rules and 0 channels serve it",
    }


def test_every_setting_leads_to_its_page(reader, project):
    for _, url in reader.get("/settings/projects/llm/").context["entries"]:
        assert reader.get(url).status_code == 200


def test_what_was_changed_names_who_and_when(reader, project):
    retention.set_rule("llm", KeepRule(30, 2**31), actor=SYSTEM, seen_ns=0, reason="", now_ns=7)
    asked = policies.Asked(1_000, True, 0)
    policies.save("llm", asked, actor=SYSTEM, reason="x", now_ns=8)
    page = reader.get("/settings/projects/llm/")
    found = said(page)
    assert found["Kept logs"] == "30 days, 2.0 GiB at most"
    assert found["Rollback rules"] == "margin of 1,000 steps, a second person approves"
    assert "by lastgood" in page.content.decode()
    (own,) = reader.get("/settings/retention/").context["own"]
    assert own == ("llm", "llm", "30 days, 2.0 GiB at most")


def test_retention_names_the_setting_beside_each_figure(reader, db, settings):
    settings.KEEP_QUARANTINE_DAYS = 3
    page = reader.get("/settings/retention/")
    found = {one.setting: one.says for one in page.context["kept"]}
    assert found["KEEP_QUARANTINE_DAYS"] == "3 days"
    assert "None: every project keeps" in page.content.decode()


def test_runs_without_a_project_have_theirs_and_an_unknown_one_is_not_there(reader, project):
    assert reader.get("/settings/projects/nobody/").status_code == 404
    runs.ensure_run("bare")
    assert "Runs without a project" in reader.get("/settings/projects/-/").content.decode()
    assert "/settings/projects/llm/" in reader.get("/projects/").content.decode()
