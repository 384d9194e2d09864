"""Tabs of a run that are pages of its project: ?run= makes a way back, for a run of it alone."""

import re

import pytest

from apps.runs import store as runs
from apps.runs.records import Progress


@pytest.fixture
def two(db, valkey):
    """Runs of two projects."""
    for key, project in (("a & b", "llm"), ("other", "vision")):
        runs.note_progress(runs.ensure_run(key), 0, Progress(project=project), None)


def tabs_of(page):
    nav = re.search(r'<nav class="tabs".*?</nav>', page, re.S)[0]
    return [link for link in re.findall(r'href="([^"]+)"', nav) if link.startswith("/projects/")]


def crumbs_of(page):
    return re.findall(r'href="(/runs/[^"]*)"', re.search(r'<p class="crumbs">.*?</p>', page)[0])


def test_each_names_the_run_and_leads_back_to_it(reader, two):
    tabs = tabs_of(reader.get("/runs/a & b/attempts/").content.decode())
    assert len(tabs) == 3
    for tab in tabs:
        assert crumbs_of(reader.get(tab).content.decode()) == ["/runs/a%20&amp;%20b/"]


@pytest.mark.parametrize("run", ["", "?run=other", "?run=nobody"])
@pytest.mark.parametrize("page", ["detectors", "fault-classes"])
def test_no_run_of_another_project_is_named(reader, two, page, run):
    assert crumbs_of(reader.get(f"/projects/llm/{page}/{run}").content.decode()) == []
