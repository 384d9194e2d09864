"""/settings/projects/: what there is, since when, and what each project is for."""

import pytest

from apps.accounts import store as accounts
from apps.runs import project_store
from apps.runs import store as runs
from apps.runs.records import Progress

PAGE = "/settings/projects/"


@pytest.fixture
def projects(db):
    """llm with two runs, and a run without a project."""
    for key, project in (("a", "llm"), ("b", "llm"), ("c", "")):
        runs.note_progress(runs.ensure_run(key), 0, Progress(project=project or None), None)


def describe(browser, text, project="llm"):
    return browser.post(f"{PAGE}{project}/", {"about": text})


def test_each_project_says_how_many_runs_and_which_was_first(reader, projects):
    rows = [(row.name, row.runs, row.first, row.newest) for row in project_store.rows()]
    assert rows == [("", 1, "c", "c"), ("llm", 2, "a", "b")]
    page = reader.get(PAGE).content.decode()
    assert 'href="/settings/projects/llm/"' in page
    assert "runs without a project" in page


def test_the_list_costs_the_same_for_any_number(projects, django_assert_num_queries):
    with django_assert_num_queries(3):
        project_store.rows()


def test_an_administrator_says_what_it_is_for(operator, projects):
    assert describe(operator, "the 7b line\nfor the <spring>").status_code == 302
    pages = operator.get(PAGE).content.decode() + operator.get(f"{PAGE}llm/").content.decode()
    assert "the 7b line<br>for the &lt;spring&gt;" in pages
    row = accounts.audit_rows(1)[0]
    assert (row.actor, row.action, row.object) == ("user:ada", "project.described", "project llm")
    assert (row.before["text"], row.after["text"]) == ("", "the 7b line\nfor the <spring>")


def test_what_is_as_it_was_leaves_no_trace(operator, projects):
    describe(operator, "x")
    describe(operator, "x")
    assert len(accounts.audit_rows(10)) == 1


def test_a_novel_is_refused_and_kept_in_the_form(operator, projects):
    page = describe(operator, "x" * 1_001)
    assert page.status_code == 422
    assert "description: this is too long" in page.content.decode()
    assert "x" * 1_001 in page.content.decode()
    assert project_store.about("llm").text == ""


def test_runs_without_a_project_can_be_described_and_unknown_ones_not(operator, projects):
    assert describe(operator, "loose ends", "-").status_code == 302
    assert project_store.about("").text == "loose ends"
    assert describe(operator, "x", "nobody").status_code == 404


def test_others_read_it_and_have_no_form(reader, projects):
    page = reader.get(f"{PAGE}llm/").content.decode()
    assert 'name="about"' not in page
    assert describe(reader, "x").status_code == 403


def test_an_empty_site_says_how_a_project_comes_about(reader, db):
    assert "Connect a run" in reader.get(PAGE).content.decode()
