"""GET /api/v1/runs/KEY/patterns and the page beside it"""

import pytest
from django.urls import reverse

from apps.incidents import services
from apps.runs import store as runs
from tests.incident_samples import failure
from tests.pattern_samples import HOUR_NS, NOON_NS, broken_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]


@pytest.fixture
def run_id():
    return broken_run()


def page(operator, **asked):
    answer = operator.get(reverse("log_patterns", args=["r"]), asked)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def by_text(body):
    return {item["text"]: item for item in body["items"]}


def test_a_pattern_says_how_often_who_first_and_who_not(ask, run_id):
    body = ask("runs/r/patterns").json()
    assert (body["attempt"], body["ranks"], body["total"]) == (0, 8, 4)
    late = by_text(body)["Watchdog caught collective timeout: rank <num>"]
    assert (late["lines"], late["level"], late["spark"]) == (7, "error", [0, 0, 0, 7])
    assert late["ranks"] == {"count": 7, "spans": "0-1,3-7", "complete": True}
    assert late["absent"] == {"count": 1, "spans": "2", "complete": True}
    assert late["first"] == {
        "time_ns": NOON_NS + 3 * HOUR_NS,
        "rank": 0,
        "node": "gpu-a01",
        "lead_ns": 1_000_000_000,
    }
    assert all(int(template) > 0 for template in late["templates"])


def test_what_is_new_comes_with_the_hour_it_is_compared_with(ask, run_id):
    body = ask("runs/r/patterns?new=true").json()
    assert [item["text"].split()[0] for item in body["items"]] == ["uncorrectable", "Watchdog"]
    assert (body["good_hour"]["since"], body["good_hour"]["enough"]) == ("error", True)
    assert body["spread"] == {"from_ns": NOON_NS, "bucket_hours": 1, "buckets": 4}


def test_names_are_merged_and_found_by_any_of_their_templates(ask, run_id):
    (slow,) = ask("runs/r/patterns?level=warning&to=2026-11-29T12:30:00Z").json()["items"]
    assert (slow["text"], len(slow["templates"])) == ("loader <*> is slow", 2)
    (same,) = ask(f"runs/r/patterns?template={slow['templates'][1]}").json()["items"]
    assert same["templates"] == slow["templates"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("ranks=7-0", "runs backwards"),
        ("level=loud", "debug, info"),
        ("from=yesterday", "is no time"),
        ("template=abc", "is no template"),
        ("template=99999999999999999999", "is no template"),
    ],
)
def test_a_senseless_question_is_refused(ask, run_id, asked, said):
    answer = ask(f"runs/r/patterns?{asked}")
    assert answer.status_code == 400
    assert said in answer.content.decode()


def test_an_attempt_without_lines_has_none(ask, db):
    runs.ensure_run("empty")
    body = ask("runs/empty/patterns").json()
    assert (body["items"], body["good_hour"]) == ([], None)


def test_the_page_leads_from_a_pattern_to_its_lines(operator, run_id):
    text = page(operator)
    assert "7 of 8" in text
    assert "not 2" in text
    assert "+1.000 s" in text
    assert "2 names" in text
    assert f"{reverse('logs', args=['r'])}?attempt=0&amp;q=template%3A" in text


def test_the_page_says_what_is_new_and_since_when(operator, run_id):
    assert "2 patterns are new since" in page(operator)
    text = page(operator, show="new")
    assert "uncorrectable ECC error" in text
    assert "took" not in text.split("<table")[1]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"level": "critical"}, "No pattern is like that."),
        ({"rank": "7-0"}, "runs backwards"),
        ({"attempt": "3"}, "Attempt 3 has not logged a line yet."),
        ({"level": "loud", "page": "-3", "rank": ""}, "4 patterns"),
    ],
)
def test_the_page_says_why_it_is_empty(operator, run_id, asked, said):
    assert said in page(operator, **asked)


def test_a_run_that_never_started_says_so(operator, db):
    runs.ensure_run("r")
    assert "No start of this run has been seen yet." in page(operator)


def test_an_incident_moves_the_last_good_hour(ask, run_id):
    services.absorb(
        run_id, 0, [failure(onset_time_ns=NOON_NS + 2 * HOUR_NS)], NOON_NS + 4 * HOUR_NS
    )
    assert ask("runs/r/patterns").json()["good_hour"]["since"] == "incident"


def test_the_page_of_an_incident_shows_what_was_new(operator, run_id):
    began = failure(onset_time_ns=NOON_NS + 3 * HOUR_NS)
    (opened,) = services.absorb(run_id, 0, [began], NOON_NS + 4 * HOUR_NS)
    text = operator.get(reverse("incident", args=[opened.incident_id])).content.decode()
    assert "New in the logs" in text
    assert "uncorrectable ECC error at" in text
    assert "first: rank 2" in text


def test_an_incident_of_a_run_without_logs_has_no_such_block(operator, incident):
    text = operator.get(reverse("incident", args=[incident.id])).content.decode()
    assert "New in the logs" not in text


def test_lines_that_are_not_told_apart_have_no_link(operator, db, monkeypatch):
    monkeypatch.setattr("apps.logs.store.templates.MAX_TEMPLATES", 1)
    broken_run()
    text = page(operator)
    assert "(lines of further templates, which are not told apart)" in text
    assert text.count("q=template%3A") == 1
