"""Docs name what exists, and what exists is in the docs."""

import re
from pathlib import Path

import pytest

from apps.core.queue import Job
from apps.ingest.digest import PROTOCOLS
from config import env
from config.metrics_docs import TABLES, filled
from config.settings_docs import example_file, settings_page

ROOT = Path(__file__).parents[2]
DOCS = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
_PATH = re.compile(r"`((?:apps|workers|config|docs|templates|static|tests)/[\w./-]+)`")
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
_ANCHOR = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_settings_are_written_from_the_table():
    assert text("docs/settings.md") == settings_page()
    assert text(".env.example") == example_file()


@pytest.mark.parametrize("setting", env.TABLE, ids=lambda setting: setting.name)
def test_each_setting_says_what_it_does(setting):
    assert setting.help.endswith(".")


@pytest.mark.parametrize("endpoint", sorted(PROTOCOLS))
def test_each_data_door_is_documented(endpoint):
    assert f"/{endpoint}" in text("docs/ingest.md") + text("docs/wandb.md")


@pytest.mark.parametrize("job", list(Job))
def test_each_job_is_in_the_operations_page(job):
    assert f"`{job.value}`" in text("docs/operations.md")


@pytest.mark.parametrize("setting", [s for s in env.TABLE if s.name.startswith("KEEP_")], ids=str)
def test_how_long_things_are_kept_is_in_the_operations_page(setting):
    row = next(line for line in text("docs/operations.md").splitlines() if setting.name in line)
    assert f"| {setting.default} days" in row


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    names = _PATH.findall(page.read_text(encoding="utf-8"))
    assert [name for name in names if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = _LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_links_into_a_page_lead_to_a_heading(page):
    wanted = _ANCHOR.findall(page.read_text(encoding="utf-8"))
    assert [(f, a) for f, a in wanted if a not in anchors(page.parent / f if f else page)] == []


def anchors(page):
    """The names under which GitHub shows the headings of a page."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_tables_of_metric_names_are_written_from_the_rules():
    """After a change: make settings-docs."""
    page = text("docs/metrics.md")
    assert page == filled(page)
    assert all(f"<!-- table: {name} -->" in page for name in TABLES)
