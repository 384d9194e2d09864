"""What the lines before a body left open is kept beside the end of their file."""

import orjson
import pytest

from apps.core.records import Severity
from apps.ingest.digest import digest
from apps.logs import store as logs
from apps.logs.records import LogQuery
from apps.runs import store as runs
from tests.factories import envelope, log_body

SEVEN_PM_NS = 1_795_978_800 * 10**9  # 2026-11-29 19:00:00 UTC

TRACEBACK = (
    b"[rank5]: Traceback (most recent call last):\n",
    b'[rank5]:   File "train.py", line 7, in main\n',
    b"[rank5]:     main()\n",
    b"[rank5]: OddProblem\n",
    b"[rank5]: going on\n",
)


@pytest.fixture
def run_id(db):
    return runs.ensure_run("r")


def send(run_id, pieces, **said):
    at = 0
    for data in pieces:
        body = log_body(data, offset=at, **said)
        assert digest([envelope("logs", body, run_id=run_id)]).written == 1
        at += len(data)


def stored(run_id):
    return logs.read_lines(LogQuery(run_id, copies=True)).lines


def test_a_traceback_goes_on_in_the_next_body(run_id):
    send(run_id, TRACEBACK)
    assert [line.severity for line in stored(run_id)] == [40, 40, 40, 40, Severity.INFO]
    texts = {row.message for row in logs.event_rows(run_id, 0, [])}
    assert texts == {"Traceback (most recent call last):", "OddProblem"}


def test_a_repeated_body_does_not_change_what_is_open(run_id):
    send(run_id, [TRACEBACK[0], TRACEBACK[1]])
    again = log_body(TRACEBACK[1], offset=len(TRACEBACK[0]))
    digest([envelope("logs", again, run_id=run_id)])
    body = log_body(TRACEBACK[3], offset=len(TRACEBACK[0] + TRACEBACK[1]))
    digest([envelope("logs", body, run_id=run_id)])
    assert stored(run_id)[-1].severity == Severity.ERROR


def test_a_rank_that_a_process_named_holds_for_its_later_bodies(run_id):
    send(run_id, [b"[rank5]: hello\n", b"no name\n"], local_rank=None)
    assert [line.rank for line in stored(run_id)] == [5, 5]


def test_the_sender_may_say_rank_and_zone_of_a_file(run_id):
    send(run_id, [b"2026-11-29 20:00:00 x\n"], local_rank=None, rank=9, zone_offset_s=3600)
    (line,) = stored(run_id)
    assert (line.rank, line.local_rank, line.time_ns) == (9, None, SEVEN_PM_NS)


def test_labels_of_slurm_tasks_are_ranks_if_the_sender_says_so(run_id):
    lines = b"3: hello\n12: [rank13]: x\n4: [default1]: y\n"
    send(run_id, [lines], local_rank=None, channel="console", tasks_are_ranks=True)
    found = {(line.rank, line.local_rank, line.channel) for line in stored(run_id)}
    assert found == {(3, None, "console"), (None, 1, "tee"), (13, None, "console")}


def test_a_traceback_goes_on_in_the_next_request_of_a_shipper(run_id):
    for number, text in enumerate(TRACEBACK):
        said = {"ts": 1_795_981_563 + number, "host": "gpu-a01", "source": "train"}
        entry = said | {"rank": 5, "msg": text.decode().rstrip("\n")}
        body = orjson.dumps(entry) + b"\n"
        assert digest([envelope("lines", body, run_id=run_id)], quarantine=False).written == 1
    assert [line.severity for line in stored(run_id)] == [40, 40, 40, 40, Severity.INFO]
