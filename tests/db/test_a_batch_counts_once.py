"""ingest.digest: the dedupe key is written in the same transaction as the rows."""

import pytest

from apps.ingest import store
from apps.ingest.digest import digest
from apps.runs.store import ensure_run
from tests.factories import envelope, log_body, metric_body


@pytest.fixture
def run_id(db):
    return ensure_run("r")


def test_a_second_delivery_is_counted_and_changes_nothing(run_id):
    sent = envelope("metrics", metric_body({1: 2.5, 2: 2.4}), run_id=run_id)
    first, second = digest([sent]), digest([sent])
    assert (first.written, second.written, second.duplicates) == (1, 0, 1)
    assert store.counters(run_id)["points"] == 2
    assert store.counters(run_id)["duplicate_batches"] == 1


def test_twice_in_one_group_counts_once_too(run_id):
    sent = envelope("metrics", metric_body({1: 2.5}), run_id=run_id)
    result = digest([sent, sent])
    assert (result.written, result.duplicates) == (1, 1)


def test_the_same_bytes_of_a_file_in_other_batches_are_stored_once(run_id):
    lines = b"first\nsecond\nthird\n"
    digest([envelope("logs", log_body(lines[:6]), run_id=run_id, batch="a")])
    digest([envelope("logs", log_body(lines), run_id=run_id, batch="b")])
    assert store.counters(run_id)["lines"] == 3


def test_a_missing_range_of_a_file_is_counted_as_a_gap(run_id):
    digest([envelope("logs", log_body(b"first\n"), run_id=run_id)])
    digest([envelope("logs", log_body(b"later\n", offset=100), run_id=run_id)])
    assert store.counters(run_id)["gaps"] == 1
