"""The printed lines of a `wandb` run, attempt after attempt, whatever else its nodes send."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.ingest.wandb import console
from apps.ingest.wandb.said import ConsoleLine
from apps.ingest.writes import Printed, add_console
from apps.logs.store import reading
from apps.runs import services as runs
from apps.runs import store as runs_store
from tests.factories import T0_NS, envelope

S = 1_000_000_000


def say(run_id, attempt, source, *texts):
    lines = [ConsoleLine(T0_NS + n * S, "stdout", text) for n, text in enumerate(texts)]
    batch = envelope("file_stream", b"", run_id=run_id)
    add_console(batch, attempt, Printed(source, None, lines))


@pytest.fixture
def run(db):
    run_id = runs_store.ensure_run("r1")
    runs.settle_attempt(run_id, 0, 1)
    for attempt in range(3):
        runs_store.open_attempt(run_id, attempt, 1)
        say(run_id, attempt, "a.log", "other")
        say(run_id, attempt, "wandb/r1", f"a{attempt}", f"b{attempt}")
    return run_id


def texts(page):
    return [entry.text for entry in page.lines]


def test_only_what_the_client_sent_is_the_console(run, monkeypatch):
    monkeypatch.setattr(reading, "MAX_LISTED", 1)
    page = console.page(run, range(3), console.Place(), 100)
    assert texts(page) == ["a0", "b0", "a1", "b1", "a2", "b2"]
    assert (console.line_count(run, range(3)), texts(console.tail(run, range(3), 1))) == (6, ["b2"])


def test_without_a_client_all_lines_are(db):
    run_id = runs_store.ensure_run("r2")
    runs.settle_attempt(run_id, 0, 1)
    say(run_id, 0, "a.log", "other")
    assert texts(console.page(run_id, [0], console.Place(), 100)) == ["other"]


def test_counting_lines_takes_one_statement(run):
    with CaptureQueriesContext(connection) as asked:
        console.line_count(run, range(900))
    assert len(asked) == 1
