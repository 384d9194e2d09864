"""ingest.lines.write, through digest"""

import json

import pytest

from apps.core.records import Severity
from apps.ingest.digest import digest
from apps.ingest.lines import write
from apps.ingest.store import counters
from apps.logs.records import LogQuery
from apps.logs.store import rank_activity, read_lines, sources
from apps.runs import store as runs
from apps.runs.records import LaunchSeen
from apps.runs.services import register_launch
from tests import factories

pytestmark = pytest.mark.django_db
T0 = factories.T0_NS


@pytest.fixture
def run(db):
    return runs.ensure_run("r")


def send(run, *lines, **given):
    body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    return digest([factories.envelope("lines", body, run_id=run, **given)], quarantine=False)


def line(number, **fields):
    return {
        "ts": T0 + number,
        "host": "gpu-0",
        "rank": 0,
        "source": "out",
        "msg": f"{number}",
    } | fields


def stored(run, **query):
    return read_lines(LogQuery(run, **query)).lines


def test_each_process_has_a_file_that_grows(run):
    send(run, line(0), line(1, rank=1), line(2, host="gpu-1", rank=8))
    send(run, line(3), batch="b2")
    assert [(s.node, s.source, s.lines, s.end_offset) for s in sources(run, 0)] == [
        ("gpu-0", "out@0", 2, 4), ("gpu-0", "out@1", 1, 2), ("gpu-1", "out@8", 1, 2),
    ]  # fmt: skip
    assert [(e.text, e.rank, e.node) for e in stored(run)] == [
        ("0", 0, "gpu-0"), ("1", 1, "gpu-0"), ("2", 8, "gpu-1"), ("3", 0, "gpu-0"),
    ]  # fmt: skip


def test_duplicates_in_a_body_are_kept_and_a_repeated_body_is_not(run):
    for _ in range(2):
        send(run, line(0), line(0), line(0))
    assert [e.text for e in stored(run)] == ["0"] * 3
    assert counters(run)["duplicate_batches"] == 1


def test_a_bad_line_is_counted_and_read_as_text(run):
    body = b'{"msg": "fine"}\nnot json\n'
    digest([factories.envelope("lines", body, run_id=run)], quarantine=False)
    assert sorted(e.text for e in stored(run)) == ["fine", "not json"]
    assert (counters(run)["bad_lines"], counters(run)["lines"]) == (1, 2)


def test_labels_say_where_a_rank_runs(run):
    send(run, line(0, rank=9, local_rank=1, host="gpu-1", level="error"))
    (rank,) = rank_activity(run, 0)
    assert (rank.rank, rank.node, rank.local_rank, rank.worst_severity) == (
        9, "gpu-1", 1, Severity.ERROR,
    )  # fmt: skip
    assert runs.placements(run, 0)[9].node == "gpu-1"


def test_an_announced_attempt_gets_its_lines(run):
    for number in range(2):
        register_launch("r", LaunchSeen("s", f"{number}", T0 + number * 10**12))
    send(run, line(0, attempt=0), line(1, attempt=1), line(2))
    assert [(e.text, e.attempt) for e in stored(run)] == [("0", 0), ("1", 1), ("2", 1)]


def test_lines_of_an_attempt_that_nobody_announced_are_kept_in_the_newest(run):
    send(run, line(0, attempt=7), line(1))
    assert [(e.text, e.attempt) for e in stored(run)] == [("0", 0), ("1", 0)]
    assert counters(run)["lines_of_unknown_attempt"] == 1


def test_a_launch_that_only_labels_tell_of_opens_its_attempt(run):
    send(run, line(0, SLURM_JOB_ID="1"), line(10**13, SLURM_JOB_ID="2"))
    send(run, line(5, SLURM_JOB_ID="1"), batch="late")
    assert [(e.text, e.attempt) for e in stored(run)] == [("0", 0), ("5", 0), (f"{10**13}", 1)]


def test_beyond_the_most_sources_lines_share_one_and_are_counted(run, monkeypatch):
    monkeypatch.setattr(write, "MAX_SOURCES", 1)
    send(run, line(0))
    send(run, line(1), line(2, source="err"), line(3, source="new"), batch="b2")
    assert [(e.text, e.source) for e in stored(run)] == [
        ("0", "out@0"), ("1", "out@0"), ("2", write.OTHERS), ("3", write.OTHERS),
    ]  # fmt: skip
    assert counters(run)["sources_refused"] == 2


def test_bodies_that_wait_together_are_each_written_once(run):
    def waiting(*numbers):
        bodies = [json.dumps(line(number)).encode() for number in numbers]
        return [factories.envelope("lines", body, run_id=run) for body in bodies]

    done = digest(waiting(0, 1), quarantine=False)
    assert (done.written, done.duplicates) == (2, 0)
    done = digest(waiting(2, 1, 3, 3), quarantine=False)
    assert (done.written, done.duplicates) == (2, 2)
    assert [e.text for e in stored(run)] == ["0", "1", "2", "3"]


def test_large_bodies_that_wait_together_are_stored_whole(run):
    text = (
        '{"ts":"2026-11-20T00:00:%02d.000000Z","host":"gpu-0","rank":0,"source":"train",'
        '"level":"INFO","msg":"step %d of many, written like all the others"}\n'
    )
    lines = [(text % (number // 10, number)).encode() for number in range(401)]
    parts = [b"".join(lines[:200]), b"".join(lines[200:400]), lines[400]]
    waiting = [
        factories.envelope("lines", part, run_id=run, batch=f"b{at}")
        for at, part in enumerate(parts)
    ]
    digest(waiting, quarantine=False)
    assert len(stored(run, limit=1_000)) == 401
