"""Back-pressure: without room the agent reads no further; nothing is dropped."""

import errno
import json
import os

import pytest

from tests.agent_server import REFUSE_CONNECTION
from tests.agents import Running, append, config, limits, lines, log_path, send_once, wait_until
from workers.tailer import durable

KEY = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)


def spooled(tmp_path):
    return sum(path.stat().st_size for path in (tmp_path / "state" / "spool").glob("*.batch"))


def test_a_server_that_is_away_fills_the_spool_to_its_bound_and_no_further(server, tmp_path):
    append(log_path(tmp_path), lines(0, 1500))
    server.faults = [None, *[REFUSE_CONNECTION] * 100_000]
    settings = config(server, tmp_path, limits=limits(spool_bytes=3000))
    with Running(settings) as running:
        wait_until(lambda: running.agent.status()["reading_paused"])
        assert spooled(tmp_path) < 10_000
        server.faults = []
        wait_until(lambda: server.files().get(KEY) == lines(0, 1500))

    assert running.status["reading_paused"] is False


def test_a_full_disk_stops_the_reading_until_there_is_room(server, tmp_path, monkeypatch):
    append(log_path(tmp_path), lines(0, 50))
    real, full = durable.write, [True]

    def write(path, data):
        if full[0] and path.suffix == ".batch":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, data)

    monkeypatch.setattr(durable, "write", write)
    with Running(config(server, tmp_path)) as running:
        wait_until(lambda: "No space left" in running.agent.status()["error"])
        full[0] = False
        wait_until(lambda: server.files().get(KEY) == lines(0, 50))

    assert running.status["error"] == ""


def test_what_is_left_in_the_spool_is_sent_by_the_next_agent(server, tmp_path):
    append(log_path(tmp_path), lines(0, 50))
    server.faults = [None, *[REFUSE_CONNECTION] * 100_000]
    with Running(config(server, tmp_path, limits=limits(stop_s=0.1))) as running:
        wait_until(lambda: running.agent.status()["spool_batches"])
    server.faults = []
    log_path(tmp_path).unlink()

    send_once(config(server, tmp_path))

    assert server.files() == {KEY: lines(0, 50)}


def test_a_full_disk_during_a_rotation_loses_nothing(server, tmp_path, monkeypatch):
    path = log_path(tmp_path)
    append(path, lines(0, 5))
    real, full = durable.write, [False]

    def write(target, data):
        if full[0] and target.suffix == ".batch":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(target, data)

    monkeypatch.setattr(durable, "write", write)
    with Running(config(server, tmp_path)) as running:
        wait_until(lambda: server.files().get(KEY) == lines(0, 5))
        full[0] = True
        append(path, lines(5, 9))
        path.rename(path.with_name("stderr.log.1"))
        append(path, lines(20, 25))
        wait_until(lambda: "No space left" in running.agent.status()["error"])
        full[0] = False
        wait_until(lambda: len(server.files()) == 2)

    assert server.files() == {KEY: lines(0, 9), (*KEY[:2], 1): lines(20, 25)}


def test_a_disk_that_is_full_while_a_batch_is_settled_stops_no_sending(
    server, tmp_path, monkeypatch
):
    append(log_path(tmp_path), lines(0, 5))
    real, full = os.fsync, [True]

    def fsync(handle):
        if full[0] and os.readlink(f"/proc/self/fd/{handle}").endswith("places.jsonl"):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with Running(config(server, tmp_path)) as running:
        wait_until(lambda: "No space left" in running.agent.status()["error"])
        append(log_path(tmp_path), lines(5, 9))
        full[0] = False
        wait_until(lambda: server.files().get(KEY) == lines(0, 9))
        wait_until(lambda: not running.agent.status()["spool_batches"])

    assert running.status["error"] == ""
    assert [json.loads(line) for line in durable.whole_lines(tmp_path / "state" / "places.jsonl")]


def test_a_line_that_did_not_fit_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "lines"
    durable.append(path, b"one")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(os, "fsync", full)
        durable.append(path, b"two")
    durable.append(path, b"three")
    assert durable.whole_lines(path) == [b"one", b"three"]
