"""Answers that no repetition changes: the batch goes to the dead letters, the rest goes on."""

import json

import pytest

from tests.agents import append, config, lines, log_path, send_once

KEY = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)


@pytest.mark.parametrize("status", [400, 404, 413, 415, 422])
def test_it_is_kept_with_the_words_of_the_server_and_counted(server, tmp_path, status):
    append(log_path(tmp_path), lines(0, 10))
    server.faults = [None, (status, "not like this")]

    assert send_once(config(server, tmp_path))["dead_letters"] == 1

    (reason,) = (tmp_path / "state" / "dead").glob("*.json")
    assert json.loads(reason.read_text()) | {"batch_id": ""} == {
        "status": status,
        "message": "not like this; body; test",
        "endpoint": "logs",
        "batch_id": "",
    }
    assert reason.with_suffix(".batch").stat().st_size > 100


def test_it_never_blocks_the_rest(server, tmp_path):
    append(log_path(tmp_path), lines(0, 200))
    server.faults = [None, None, (413, "too large")]

    status = send_once(config(server, tmp_path))

    sent = sum(len(data) for _, data in server.opened("logs"))
    assert (status["dead_letters"], status["spool_batches"]) == (1, 0)
    assert 0 < len(lines(0, 200)) - sent < 9000


def test_it_is_not_sent_again_by_a_later_agent(server, tmp_path):
    append(log_path(tmp_path), lines(0, 10))
    server.faults = [None, (400, "no")]
    send_once(config(server, tmp_path))
    append(log_path(tmp_path), lines(10, 20))

    status = send_once(config(server, tmp_path))

    ((_, data),) = server.opened("logs")
    assert data == lines(10, 20)
    assert status["dead_letters"] == 1
