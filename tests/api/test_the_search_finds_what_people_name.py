"""GET /search.json and /search/: runs, incidents, pages by a part of their name, within bounds."""

import pytest

from apps.dashboard.search import ACTIONS, EACH
from apps.ingest.digest import digest
from apps.runs import store as runs
from tests.factories import envelope, metric_body


def titles(client, text, kind):
    groups = client.get("/search.json", {"q": text}).json()["groups"]
    return [hit["title"] for group in groups if group["kind"] == kind for hit in group["hits"]]


@pytest.fixture
def named(operator, valkey):
    """Makes runs with these keys, the first one first."""
    return lambda *keys: [runs.ensure_run(key) for key in keys]


def test_a_key_that_begins_so_comes_before_one_that_holds_it(operator, named):
    named("llm-7b", "old-llm", "other")
    assert titles(operator, "llm", "Runs") == ["llm-7b", "old-llm"]


def test_a_text_means_itself(operator, named):
    named("a_b", "axb")
    assert titles(operator, "a_b", "Runs") == ["a_b"]
    assert titles(operator, "%", "Runs") == []


@pytest.mark.parametrize("text", ["INC-{}", "inc-{}", "{}"])
def test_an_incident_is_found_by_its_number(operator, incident, text):
    assert titles(operator, text.format(incident.id), "Incidents") == [incident.label]


def test_an_incident_is_found_by_its_title(operator, incident):
    assert titles(operator, incident.title[:4].upper(), "Incidents") == [incident.label]


def test_without_a_text_the_newest_are_offered(operator, incident):
    assert titles(operator, "", "Runs") == ["boom"]
    assert titles(operator, "", "Incidents") == [incident.label]
    assert "Incidents" in titles(operator, "", "Pages")


def test_sections_of_the_settings_are_found_by_their_words(operator):
    assert "Members and roles" in titles(operator, "roles", "Pages")


def test_a_project_leads_to_its_runs(operator, named):
    (run_id,) = named("r")
    digest([envelope("metrics", metric_body({1: 2.0}), run_id=run_id)])
    runs.Run.objects.filter(pk=run_id).update(project="vision/ü")
    groups = operator.get("/search.json", {"q": "vis", "kind": "Projects"}).json()["groups"]
    assert [group["kind"] for group in groups] == ["Projects"]
    assert groups[0]["hits"][0]["url"] == "/?project=vision%2F%C3%BC"


def test_no_more_than_a_handful_of_a_kind_is_given(operator, named):
    named(*[f"many-{n}" for n in range(EACH + 5)])
    assert len(titles(operator, "many", "Runs")) == EACH


@pytest.mark.parametrize("text", ["x" * 5000, "'", "\\", "999999999999999999999"])
def test_no_text_breaks_it(operator, db, text):
    assert operator.get("/search.json", {"q": text}).status_code == 200
    assert operator.get("/search/", {"q": text}).status_code == 200


def test_the_number_of_statements_does_not_depend_on_what_is_there(
    operator, named, django_assert_max_num_queries
):
    named(*[f"r{n}" for n in range(20)])
    with django_assert_max_num_queries(9):
        operator.get("/search.json", {"q": "r"})


def test_what_the_browser_does_by_itself_changes_nothing_on_the_server():
    assert {act for _, _, act in ACTIONS} == {"theme", "zone", "pause", "rail", "keys"}


def test_the_page_finds_the_same_without_javascript(operator, incident):
    text = operator.get("/search/", {"q": "boo"}).content.decode()
    assert 'href="/runs/boom/" data-item' in text
    assert "Nothing fits" in operator.get("/search/", {"q": "zzz"}).content.decode()
