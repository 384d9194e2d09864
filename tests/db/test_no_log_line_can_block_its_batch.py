"""What a training process prints is text first: no line keeps its neighbours from being stored."""

import pytest

from apps.ingest import store
from apps.ingest.digest import digest
from apps.logs.domain.reading.pieces import MAX_LINE_BYTES
from apps.runs import store as runs
from tests.factories import envelope, log_body

HEAD = b"2026-11-29 19:46:03.842 [INFO] [rank0] "
LINES = [
    HEAD + b"init: pid=1 world=4294967296 device=x",
    HEAD + b"init: pid=99999999999999999999 world_size=99999999999999999999",
    HEAD + b"init: pid=\xc2\xb2 world=\xc2\xb2",
    HEAD + b"train: step 999999999999 loss=1e999 grad=nan",
    HEAD + b"train: step 9999999999999999999999 loss=1",
    b"2026-11-29 19:46:03.842 [INFO] [rank9999999] train: step 5 loss=1",
    b"2026-11-29 19:46:03.842 [ERROR] [rank99999999999] x",
    b"9999-99-99 99:99:99.999 [ERROR] x",
    b"0001-01-01 00:00:00.000 [ERROR] x",
    b"9999-12-31 23:59:59.999999999 [ERROR] x",
    b"[default999999]:[rank3]: Traceback (most recent call last):",
    b"F9999 99:99:99.999999 1 x.cc:1] y",
    HEAD + b"\0\x1b[31m\xff\xfe\xed\xa0\x80 step 5",
    HEAD + b"host=" + b"h" * 70_000,
    HEAD + b"init: pid=1 world=8 host=" + b"h" * 300 + b" device=" + b"d" * 300,
]


@pytest.mark.parametrize("line", LINES)
def test_it_is_stored(db, line):
    run_id = runs.ensure_run("r")
    body = log_body(b"before\n" + line + b"\nafter\n")
    assert digest([envelope("logs", body, run_id=run_id)]).written == 1
    assert store.counters(run_id)["lines"] == 3 + len(line) // MAX_LINE_BYTES


def test_without_a_node_of_the_sender_the_printed_host_counts(db):
    run_id = runs.ensure_run("r")
    text = HEAD + b"init: pid=1 host=" + b"h" * 300 + b" world=8 device=" + b"d" * 300 + b"\n"
    body = log_body(text).replace(b'"node":"gpu-a01"', b'"node":null')
    assert digest([envelope("logs", body, run_id=run_id)]).written == 1


def test_numbers_that_cannot_be_stored_are_counted_and_the_lines_stay(db, monkeypatch):
    monkeypatch.setattr("apps.metrics.store.names.MAX_NAMES", 2)
    run_id = runs.ensure_run("r")
    named = b" ".join(b"n%d=1" % n for n in range(5))
    text = HEAD + b"train: step 5 " + named + b"\nafter\n"
    assert digest([envelope("logs", log_body(text), run_id=run_id)]).written == 1
    counters = store.counters(run_id)
    assert (counters["lines"], counters["told_rows_refused"]) == (2, 1)
