"""A file name with a number in it makes a file of every batch: refused with a reason, kept."""

import pytest

from apps.ingest import store
from apps.ingest.digest import digest
from apps.ingest.logs import write
from apps.runs import store as runs
from tests import factories

pytestmark = pytest.mark.django_db


def send(run_id, source, offset=0):
    body = factories.log_body(b"a line\n", source=source, offset=offset)
    return digest([factories.envelope("logs", body, run_id=run_id)])


def test_a_file_beyond_the_bound_goes_to_quarantine_and_known_ones_go_on(monkeypatch):
    monkeypatch.setattr(write, "MAX_FILES", 2)
    run_id = runs.ensure_run("r")
    assert send(run_id, "a.log").written == 1
    assert send(run_id, "b.log").written == 1
    assert send(run_id, "c.log").quarantined == 1
    (kept,) = store.quarantined(5)
    assert kept.reason == "the run has 2 log files"
    assert kept.where == "segments: c.log"
    assert send(run_id, "a.log", offset=7).written == 1
    assert store.counters(run_id)["lines"] == 3
