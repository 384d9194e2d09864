"""Progress lines become metrics of the job once, however many files repeat them."""

import orjson
import pytest

from apps.ingest import store
from apps.ingest.digest import digest
from apps.metrics import store as metrics
from apps.metrics.naming import roles_of
from apps.runs import store as runs
from tests.factories import envelope

pytestmark = pytest.mark.django_db


@pytest.fixture
def run_id():
    return runs.ensure_run("titan")


def progress(first, last):
    return "".join(
        f"step: {n:2}  loss: {9 - n / 10:7.4f}  memory: 24.14GiB(30.48%)  tps: 5,123\n"
        for n in range(first, last)
    ).encode()


def segment(rank, data, *, offset=0, channel="stderr"):
    header = {
        "source": f"job/attempt_0/{rank}/stderr.log" if channel == "stderr" else "console.log",
        "channel": channel,
        "local_rank": rank,
        "offset": offset,
        "bytes": len(data),
        "seen_ns": 1_795_982_000_000_000_000 + offset,
    }
    return header, data


def send(run_id, *segments, node="gpu-a01"):
    header = {"v": 1, "attempt": 0, "node": node, "segments": [head for head, _ in segments]}
    body = orjson.dumps(header) + b"\n" + b"".join(data for _, data in segments)
    digest([envelope("logs", body, run_id=run_id)], quarantine=False)


def losses(run_id):
    steps, _, values = metrics.read_rows(run_id, 0, ["log/loss"])["log/loss"]
    return list(zip(steps.tolist(), values.tolist(), strict=True))


def expected(first, last):
    return [(n, round(9 - n / 10, 4)) for n in range(first, last)]


def test_the_lowest_rank_of_the_first_batch_speaks(run_id):
    data = progress(1, 4)
    send(run_id, segment(3, data), segment(0, data), segment(None, data, channel="console"))
    send(run_id, segment(0, data), node="gpu-b02")
    assert losses(run_id) == expected(1, 4)
    assert store.counters(run_id)["job_lines"] == 3
    assert store.counters(run_id)["job_lines_copied"] == 9


def test_bytes_that_come_again_double_nothing(run_id):
    data = progress(1, 4)
    more = progress(4, 6)
    send(run_id, segment(0, data))
    send(run_id, segment(0, data + more))
    assert losses(run_id) == expected(1, 6)


def test_the_detector_reads_them_where_nothing_better_is_logged(run_id):
    send(run_id, segment(0, progress(1, 4)))
    assert roles_of(run_id).loss == "log/loss"
    assert runs.attempt(run_id, 0).last_step == 3


def test_a_lower_step_in_a_log_opens_no_attempt(run_id):
    send(run_id, segment(0, progress(5, 8)))
    send(run_id, segment(0, progress(1, 3), offset=len(progress(5, 8))))
    assert [info.number for info in runs.attempts(run_id)] == [0]


def test_numbers_of_ranks_in_bytes_that_come_again_double_nothing(run_id):
    data = b"".join(b"[rank0] train: step %d local_loss=1.5\n" % n for n in range(4))
    send(run_id, segment(0, data))
    more = b"[rank0] train: step 4 local_loss=1.5\n"
    send(run_id, segment(0, data + more))
    assert store.counters(run_id)["points"] == 5


def test_a_line_that_is_sent_in_parts_gives_no_cut_number(run_id):
    data = progress(1, 3)
    at = data.rindex(b"loss: ") + 9
    header, first = segment(0, data[:at])
    send(run_id, (header | {"partial": True}, first), segment(0, data[at:], offset=at))
    assert losses(run_id) == expected(1, 2)
    assert store.counters(run_id)["partial_lines"] == 1
