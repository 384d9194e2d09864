"""ingest.digest: the number of statements does not grow with what is there or what is sent."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.ingest.digest import digest
from apps.runs import store as runs
from tests.factories import envelope, log_body, metric_body


@pytest.fixture
def run_id(db):
    return runs.ensure_run("r")


def statements(work):
    with CaptureQueriesContext(connection) as found:
        work()
    return len(found)


def test_however_many_attempts_there_are(run_id):
    [runs.open_attempt(run_id, number, number) for number in range(2)]
    few = statements(lambda: digest([metrics(run_id, 1, 1)]))
    [runs.open_attempt(run_id, number, number) for number in range(2, 60)]
    assert statements(lambda: digest([metrics(run_id, 2, 1)])) <= few


def metrics(run_id, step, attempt):
    return envelope("metrics", metric_body({step: 1.0}, attempt=attempt), run_id=run_id)


def test_however_many_lines_there_are(run_id):
    short = envelope("logs", log_body(b"one\n"), run_id=run_id)
    long = envelope("logs", log_body(b"line\n" * 500, offset=4), run_id=run_id)
    first = statements(lambda: digest([short]))
    assert statements(lambda: digest([long])) <= first
