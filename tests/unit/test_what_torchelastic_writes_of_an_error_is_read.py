"""error.json of a worker: lines of its rank, an input of the verdict and never the verdict."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import SegmentMeta
from apps.logs.domain.triage.assemble import assemble
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.ranks import fold_lines
from workers.benches.casefiles import rows_of
from workers.tailer.streams import torchrun_files

NS = 10**9
SECOND = 1_796_000_000
STACK = 'Traceback (most recent call last):\n  File "t.py", line 9, in main\nKeyError: 7\n'


def error_json(message, stack="", second=SECOND):
    extra = {"py_callstack": stack, "timestamp": str(second)}
    return json.dumps({"message": {"message": message, "extraInfo": extra}}).encode()


def lines(body, rank=0, name="error.json"):
    meta = SegmentMeta(
        source=f"j/attempt_0/{rank}/{name}", channel="stderr", local_rank=rank, node="gpu-1",
        offset=0, seen_ns=(SECOND + 60) * NS, partial=True, rank=rank,
    )  # fmt: skip
    return LineColumns.of(parse_segment(meta, body).lines)


def test_it_is_the_traceback_at_the_end_of_its_second():
    found = list(lines(error_json("KeyError: 7", STACK)))
    assert [line.text for line in found] == STACK.splitlines()
    assert {line.severity for line in found} == {Severity.ERROR}
    assert {line.time_ns for line in found} == {(SECOND + 1) * NS - 1}


def test_without_a_traceback_it_is_the_message():
    assert [line.text for line in lines(error_json("SignalException: 9"))] == ["SignalException: 9"]


@pytest.mark.parametrize("second", ["", "soon", "9" * 30, None, 1.5])
def test_a_time_that_is_none_costs_nothing(second):
    (line,) = lines(error_json("KeyError: 7", second=second))
    assert line.text == "KeyError: 7"


@given(st.dictionaries(st.text(max_size=8), st.none() | st.text(max_size=8) | st.lists(st.none())))
def test_any_other_record_stays_a_line(said):
    body = json.dumps({"message": said}).encode()
    assert [line.text for line in lines(body)] == [body.decode()]


def test_the_earliest_of_them_is_not_taken_for_the_cause():
    """torchrun would name rank 1: its file is older. It complains of a peer, rank 0 does not."""
    peer = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:5] Connection closed by peer [192.0.2.1]:4"
    said = {0: error_json("KeyError: 7", STACK, SECOND + 4), 1: error_json(peer)}
    states, rows = {}, []
    for rank, body in said.items():
        columns = lines(body, rank)
        fold_lines(states, "gpu-1", columns)
        rows += rows_of("gpu-1", columns)
    verdict = first_failure(assemble(rows, states.values(), taxonomy()), taxonomy())
    assert (verdict.suspects[0].rank, verdict.fault.id) == (0, "py_exception")


def test_the_agent_follows_it(tmp_path):
    folder = tmp_path / "job_1" / "attempt_0" / "3"
    folder.mkdir(parents=True)
    for name in ("stderr.log", "error.json", "other.json"):
        (folder / name).write_text("{}")
    found = {origin.source: origin for _, origin in torchrun_files(tmp_path)}
    assert sorted(found) == ["job_1/attempt_0/3/error.json", "job_1/attempt_0/3/stderr.log"]
    assert found["job_1/attempt_0/3/error.json"].local_rank == 3
