"""Numbered lines of file_stream: once each, whatever the batching; gaps are counted."""

import orjson
import pytest
from msgspec.structs import replace

from apps.accounts.records import SYSTEM
from apps.ingest import services, store
from apps.ingest.digest import digest
from apps.ingest.wandb.lines import HISTORY, OUTPUT
from apps.ingest.wandb.store import ends
from apps.metrics.store import read_rows
from apps.runs import store as runs
from tests import factories

T0_S = 1_795_981_200


@pytest.fixture
def run(db):
    run_id = runs.ensure_run("r")
    runs.open_attempt(run_id, 0, factories.T0_NS)
    return run_id


def history(*steps, process_s=0):
    return [
        orjson.dumps({"_step": s, "_timestamp": T0_S + process_s + s, "loss": s}).decode()
        for s in steps
    ]


def send(run, offset, lines, file=HISTORY, writer="", attempt=0):
    body = orjson.dumps({"files": {file: {"offset": offset, "content": lines}}})
    batch = f"{attempt}{writer}{file}{offset}-{len(lines)}"
    envelope = factories.envelope("file_stream", body, run_id=run, batch=batch)
    return digest([replace(envelope, attempt=attempt, writer=writer)])


def steps(run):
    return read_rows(run, 0, ["loss"], 0, 1000)["loss"][0].tolist()


def test_overlaps_are_cut(run):
    send(run, 0, history(0, 1, 2))
    send(run, 1, history(1, 2, 3, 4))
    assert steps(run) == [0, 1, 2, 3, 4]
    assert store.counters(run)["repeated_lines"] == 2


def test_a_gap_is_counted_until_it_is_filled(run):
    send(run, 0, history(0))
    send(run, 3, history(3))
    opened = store.counters(run)
    send(run, 1, history(1, 2))
    assert (opened["gaps"], opened["missing_lines"]) == (1, 2)
    assert (store.counters(run)["missing_lines"], steps(run)) == (0, [0, 1, 2, 3])


def test_lines_of_another_process_are_kept_aside_and_never_taken_for_repeats(run):
    send(run, 0, history(0, 1))
    done = send(run, 0, history(0, 1, 2, process_s=100))
    assert (done.quarantined, steps(run)) == (1, [0, 1])
    (kept,) = store.quarantined(10)
    assert "another process" in kept.reason


def test_an_old_client_resumes_without_saying_so(run):
    send(run, 0, history(0, 1))
    runs.open_attempt(run, 1, factories.T0_NS)
    assert ends(run, 1)[HISTORY] == (2, history(1)[0])
    send(run, 2, history(2, 3), attempt=1)
    assert ends(run, 1)[HISTORY] == (4, history(3)[0])
    assert "gaps" not in store.counters(run)


def test_lines_that_fit_no_end_are_a_gap(run):
    send(run, 0, history(0, 1))
    runs.open_attempt(run, 1, factories.T0_NS)
    send(run, 3, history(3), attempt=1)
    counters = store.counters(run)
    assert (counters["gaps"], counters["missing_lines"]) == (1, 3)


def test_each_writer_of_a_run_counts_its_own_lines(run):
    send(run, 0, history(0), writer="a")
    send(run, 0, history(1, process_s=5), writer="b")
    assert steps(run) == [0, 1]


def test_console_lines_are_numbered_too(run):
    send(run, 0, ["one", "two"], OUTPUT)
    send(run, 1, ["two", "three"], OUTPUT)
    assert store.counters(run)["lines"] == 3


def test_a_console_line_that_is_rewritten_is_kept_again(run):
    send(run, 0, ["one", "10%"], OUTPUT)
    send(run, 1, ["50%", "two"], OUTPUT)
    send(run, 1, ["50%", "two", "three"], OUTPUT)
    counters = store.counters(run)
    told = [counters[name] for name in ("lines", "rewritten_lines", "repeated_lines")]
    assert told == [5, 1, 2]


def test_a_quarantined_body_gets_another_try_as_the_same_writer(run, monkeypatch):
    send(run, 0, history(0), writer="a")
    with monkeypatch.context() as fault:
        fault.setattr("apps.ingest.digest.parse_stream", None)
        send(run, 0, history(1, 2, process_s=5), writer="b")
    runs.open_attempt(run, 1, factories.T0_NS)
    services.requeue(store.quarantined(1)[0].id, actor=SYSTEM)
    assert (steps(run), read_rows(run, 1, ["loss"], 0, 1000)) == ([0, 1, 2], {})
