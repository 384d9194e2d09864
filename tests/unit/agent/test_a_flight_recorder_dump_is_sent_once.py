"""workers.tailer.dumps: files that PyTorch writes at TORCH_NCCL_DEBUG_INFO_TEMP_FILE"""

import errno
import os

import pytest

from apps.core.errors import AppError
from apps.logs.domain.triage.flight_dump import MAX_DUMP_BYTES
from tests.agents import Running, append, config, lines, log_path, send_once, wait_until
from tests.flight_samples import as_json, collective, dump, pickled
from workers.tailer.dumps import ENDPOINT, template_of
from workers.tailer.spool import Spool

STAMP_S = 1_795_981_560
"""Some seconds before the first of tests.agents.lines."""
ROOT = dump({"0": [0, 1, 2, 3]}, [collective("0", 5)])
DUMP = pickled(ROOT)


def put(tmp_path, rank=3, body=DUMP, at_s=STAMP_S + 100):
    """A dump as PyTorch leaves it, written at a time."""
    path = tmp_path / "flight" / f"rank_{rank}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(body)
    os.utime(path, (at_s, at_s))
    return path


@pytest.fixture
def settings(server, tmp_path):
    return config(server, tmp_path, flight_recorder=(template_of(f"{tmp_path}/flight/rank_"),))


def test_a_dump_is_sent_with_its_rank_and_the_attempt_of_its_time(server, tmp_path, settings):
    append(log_path(tmp_path), lines(0, 3))
    put(tmp_path)
    send_once(settings)
    send_once(settings)
    assert server.dumps == [("r", "rank=3&attempt=0", DUMP)]


def test_a_lost_answer_sends_it_again_under_one_id_and_an_error_later(server, tmp_path, settings):
    append(log_path(tmp_path), lines(0, 3))
    put(tmp_path)
    send_once(settings)
    put(tmp_path, rank=4, body=as_json(ROOT))
    server.faults = [(503, "later"), "drop"]
    send_once(settings)
    assert [query for _, query, _ in server.dumps] == [
        "rank=3&attempt=0",
        "rank=4&attempt=0",
        "rank=4&attempt=0",
    ]
    assert len({batch for batch in server.order if batch.startswith("flight-recorder")}) == 2


def test_a_file_is_sent_when_it_is_whole(server, tmp_path, settings):
    append(log_path(tmp_path), lines(0, 3))
    path = put(tmp_path, body=DUMP[:-30])
    with Running(settings) as running:
        wait_until(lambda: running.agent.status()["unreadable_files"])
        assert server.dumps == []
        whole = tmp_path / "whole"
        whole.write_bytes(DUMP)
        os.utime(whole, (STAMP_S + 101, STAMP_S + 101))  # an append would be of today
        whole.replace(path)
        wait_until(lambda: server.dumps)
        wait_until(lambda: not running.agent.status()["unreadable_files"])
    assert server.dumps == [("r", "rank=3&attempt=0", DUMP)]


@pytest.mark.parametrize(
    ("size", "said"), [(100, "is cut in the middle"), (MAX_DUMP_BYTES + 1, "is larger than 16 MiB")]
)
def test_what_is_no_whole_dump_is_named(server, tmp_path, settings, size, said):
    os.truncate(put(tmp_path), size)
    status = send_once(settings)
    assert said in status["unreadable_files"][0]
    assert server.dumps == []


def test_a_rank_that_dumps_again_is_sent_again(server, tmp_path, settings):
    append(log_path(tmp_path), lines(0, 3))
    put(tmp_path)
    send_once(settings)
    append(log_path(tmp_path, attempt=1), lines(50, 53))
    newer = pickled(dump({"0": [0, 1, 2, 3]}, [collective("0", 9)]))
    put(tmp_path, body=newer, at_s=STAMP_S + 200)
    send_once(settings)
    assert server.dumps[1:] == [("r", "rank=3&attempt=1", newer)]


def test_a_full_disk_loses_no_dump(server, tmp_path, settings, monkeypatch):
    append(log_path(tmp_path), lines(0, 3))
    put(tmp_path)
    add, full = Spool.add, ["once"]

    def failing(spool, batch):
        if batch.endpoint == ENDPOINT and full:
            raise OSError(errno.ENOSPC, full.pop())
        add(spool, batch)

    monkeypatch.setattr(Spool, "add", failing)
    with Running(settings):
        wait_until(lambda: server.dumps)
    assert server.dumps == [("r", "rank=3&attempt=0", DUMP)]


def test_what_an_earlier_job_left_is_not_sent(server, tmp_path, settings):
    append(log_path(tmp_path), lines(0, 3))
    put(tmp_path, at_s=STAMP_S - 60)
    send_once(settings)
    assert server.dumps == []


def test_without_any_start_the_server_takes_the_newest_attempt(server, tmp_path):
    put(tmp_path)
    template = template_of(f"{tmp_path}/{{run}}/rank_{{rank}}")
    send_once(config(server, tmp_path, run="", torchrun=(), flight_recorder=(template,)))
    assert server.dumps == [("flight", "rank=3", DUMP)]


def test_an_old_dump_of_a_run_without_a_start_is_left_alone(server, tmp_path):
    put(tmp_path, at_s=1)
    fresh = put(tmp_path, rank=4)
    os.utime(fresh)
    template = template_of(f"{tmp_path}/flight/rank_")
    with Running(config(server, tmp_path, torchrun=(), flight_recorder=(template,))):
        wait_until(lambda: server.dumps)
    assert server.dumps == [("r", "rank=4", DUMP)]


def test_a_template_says_whose_a_dump_is():
    with pytest.raises(AppError, match="does not say whose dump a file is"):
        template_of("/dumps/{run}/trace")
