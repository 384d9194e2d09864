"""Rotation (rename), truncation (copytruncate) and replacement of a log file."""

import os

from tests.agents import Running, append, config, lines, log_path, send_once, wait_until


def key(generation):
    return ("gpu-a01", "job_1/attempt_0/0/stderr.log", generation)


def test_a_renamed_file_is_read_to_its_end_before_the_new_one(server, tmp_path):
    path = log_path(tmp_path)
    append(path, lines(0, 5))
    with Running(config(server, tmp_path)):
        wait_until(lambda: server.files().get(key(0)) == lines(0, 5))
        append(path, lines(5, 9) + b"unfinished")
        path.rename(path.with_name("stderr.log.1"))
        append(path, lines(20, 25))
        wait_until(lambda: server.files().get(key(1)) == lines(20, 25))

    assert server.files()[key(0)] == lines(0, 9) + b"unfinished"


def test_a_file_renamed_while_the_agent_was_away_is_found_by_its_inode(server, tmp_path):
    path = log_path(tmp_path)
    append(path, lines(0, 5))
    send_once(config(server, tmp_path))
    append(path, lines(5, 9))
    path.rename(path.with_name("stderr.log.1"))
    append(path, lines(20, 25))

    send_once(config(server, tmp_path))

    assert server.files() == {key(0): lines(0, 9), key(1): lines(20, 25)}


def test_a_file_replaced_while_the_agent_was_away_is_a_new_generation(server, tmp_path):
    path = log_path(tmp_path)
    append(path, lines(0, 5))
    send_once(config(server, tmp_path))
    append(path.with_name("new"), lines(20, 40))
    path.with_name("new").rename(path)

    send_once(config(server, tmp_path))

    assert server.files() == {key(0): lines(0, 5), key(1): lines(20, 40)}


def test_a_truncated_file_is_a_new_generation(server, tmp_path):
    path = log_path(tmp_path)
    append(path, lines(0, 50))
    with Running(config(server, tmp_path)) as running:
        wait_until(lambda: server.files().get(key(0)) == lines(0, 50))
        os.truncate(path, 0)
        append(path, lines(50, 53))
        wait_until(lambda: server.files().get(key(1)) == lines(50, 53))

    assert running.status["truncations"] == 1


def test_a_file_emptied_and_grown_beyond_its_old_size_is_noticed(server, tmp_path):
    path = log_path(tmp_path)
    append(path, lines(0, 5))
    send_once(config(server, tmp_path))
    os.truncate(path, 0)
    append(path, lines(20, 90))

    send_once(config(server, tmp_path))

    assert server.files() == {key(0): lines(0, 5), key(1): lines(20, 90)}


def test_a_removed_file_is_no_error(server, tmp_path):
    path = log_path(tmp_path)
    append(path, lines(0, 5))
    with Running(config(server, tmp_path)) as running:
        wait_until(lambda: server.files())
        path.unlink()
        append(log_path(tmp_path, rank=1), lines(0, 3))
        wait_until(lambda: len(server.files()) == 2)

    assert running.status["error"] == ""
