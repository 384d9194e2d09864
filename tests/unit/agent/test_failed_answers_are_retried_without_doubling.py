"""Lost answers, busy servers, broken connections, wrong tokens."""

import time

import pytest

from apps.core.errors import AppError
from tests.agent_server import DROP, REFUSE_CONNECTION
from tests.agents import Running, append, config, limits, lines, log_path, send_once, wait_until
from workers.tailer.sender import pause_s
from workers.tailer.server import Answer, Verdict

KEY = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)


@pytest.mark.parametrize(
    "faults",
    [
        [None, DROP],
        [None, REFUSE_CONNECTION, REFUSE_CONNECTION],
        [None, (500, "broken"), (502, "proxy")],
        [None, (503, 0, "full")],
        [None, (429, 0, "slow down"), DROP, (503, 0, "full"), REFUSE_CONNECTION],
        [None, (408, "too slow"), (425, "early")],
        [(503, 0, "no database"), REFUSE_CONNECTION, None],
        [None, None, DROP, None, DROP, DROP],
    ],
)
def test_everything_arrives_once(server, tmp_path, faults):
    append(log_path(tmp_path), lines(0, 200))
    server.faults = list(faults)

    status = send_once(config(server, tmp_path))

    assert server.files() == {KEY: lines(0, 200)}
    assert server.faults == []
    assert (status["dead_letters"], status["error"]) == (0, "")


def test_the_wait_that_the_server_asks_for_is_kept(server, tmp_path):
    append(log_path(tmp_path), lines(0, 2))
    server.faults = [None, (429, 1, "slow down")]
    began = time.monotonic()

    send_once(config(server, tmp_path))

    assert time.monotonic() - began > 1.0


@pytest.mark.parametrize(("failures", "low", "high"), [(1, 0.25, 0.5), (3, 1, 2), (50, 15, 30)])
def test_pauses_double_with_a_random_half_and_a_longest_one(failures, low, high):
    answer = Answer(Verdict.LATER, 500, "")
    bounds = limits(retry_first_s=0.5, retry_longest_s=30.0)

    assert low <= pause_s(failures, answer, bounds) <= high


def test_an_agent_that_follows_waits_for_a_better_token(server, tmp_path):
    append(log_path(tmp_path), lines(0, 2))
    server.faults = [(401, "unknown token"), None, (403, "no scope")]
    with Running(config(server, tmp_path)) as running:
        wait_until(lambda: server.files())
    assert running.status["dead_letters"] == 0


def test_a_one_time_transfer_with_a_wrong_token_says_so(server, tmp_path):
    append(log_path(tmp_path), lines(0, 2))

    with pytest.raises(AppError, match=r"--token-file: the server refuses the token \(unknown"):
        send_once(config(server, tmp_path, token="wrong"))


def test_a_token_refused_in_the_middle_ends_a_one_time_transfer(server, tmp_path):
    append(log_path(tmp_path), lines(0, 200))
    server.faults = [None, None, (401, "revoked")]

    with pytest.raises(AppError, match=r"refuses the token \(revoked"):
        send_once(config(server, tmp_path))


def test_a_one_time_transfer_without_a_server_gives_up_and_goes_on_later(server, tmp_path):
    append(log_path(tmp_path), lines(0, 100))
    server.faults = [None, None, *[REFUSE_CONNECTION] * 1000]
    settings = config(server, tmp_path, limits=limits(give_up_s=0.2))

    with pytest.raises(AppError, match=r"no success for .* start it again: it goes on"):
        send_once(settings)
    server.faults = []
    send_once(settings)

    assert server.files() == {KEY: lines(0, 100)}


def test_an_unknown_run_is_an_error_of_a_one_time_transfer(server, tmp_path):
    append(log_path(tmp_path), lines(0, 2))
    server.faults = [(404, "no run r")]

    with pytest.raises(AppError, match=r"run r: launch not registered \(404: no run r"):
        send_once(config(server, tmp_path))
