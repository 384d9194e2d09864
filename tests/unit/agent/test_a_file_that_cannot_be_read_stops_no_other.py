"""Reading errors of one file: the others go on, and what was read is not lost."""

import errno
import os

from tests.agents import Running, append, config, lines, log_path, send_once, wait_until
from workers.tailer.followed import FollowedFile

FIRST = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)
SECOND = ("gpu-a01", "job_1/attempt_0/1/stderr.log", 0)


def test_a_failing_disk_under_one_file_loses_nothing_of_the_other(server, tmp_path, monkeypatch):
    append(log_path(tmp_path, rank=0), lines(0, 20))
    append(log_path(tmp_path, rank=1), lines(0, 20))
    real, broken = FollowedFile.read, [True]

    def read(file, size):
        if broken[0] and file.path.parts[-2] == "1":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(file, size)

    monkeypatch.setattr(FollowedFile, "read", read)
    with Running(config(server, tmp_path)) as running:
        wait_until(lambda: server.files().get(FIRST) == lines(0, 20))
        (told,) = wait_until(lambda: running.agent.status()["unreadable_files"])
        assert told == f"{log_path(tmp_path, rank=1)}: Input/output error"
        broken[0] = False
        wait_until(lambda: len(server.files()) == 2)

    assert server.files() == {FIRST: lines(0, 20), SECOND: lines(0, 20)}
    assert running.status["unreadable_files"] == []
    assert running.status["stale_handles"] >= 1


def test_a_file_server_that_was_away_is_asked_again(server, tmp_path, monkeypatch):
    append(log_path(tmp_path), lines(0, 20))
    real, stale = os.fstat, [False]

    def fstat(handle):
        if stale[0]:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real(handle)

    with Running(config(server, tmp_path)) as running:
        wait_until(lambda: server.files().get(FIRST) == lines(0, 20))
        monkeypatch.setattr("workers.tailer.followed.os.fstat", fstat)
        stale[0] = True
        append(log_path(tmp_path), lines(20, 40))
        wait_until(lambda: running.agent.status()["unreadable_files"])
        stale[0] = False
        wait_until(lambda: server.files().get(FIRST) == lines(0, 40))

    assert running.status["stale_handles"] >= 1


def test_an_unreadable_wandb_file_does_not_stop_the_logs(server, tmp_path):
    append(log_path(tmp_path), lines(0, 20))
    folder = tmp_path / "wandb" / "run-x.wandb"
    folder.mkdir(parents=True)
    with Running(config(server, tmp_path, wandb=(tmp_path / "wandb",))) as running:
        wait_until(lambda: server.files().get(FIRST) == lines(0, 20))
        (told,) = wait_until(lambda: running.agent.status()["unreadable_files"])

    assert told == f"{folder}: Is a directory"


def test_a_file_without_permission_is_named(server, tmp_path, monkeypatch):
    append(log_path(tmp_path), lines(0, 20))
    append(log_path(tmp_path, rank=1), lines(0, 20))
    real = os.open

    def forbidden(path, flags, *more, **options):
        if str(path).endswith("1/stderr.log"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", forbidden)
    status = send_once(config(server, tmp_path))

    assert server.files() == {FIRST: lines(0, 20)}
    assert status["unreadable_files"] == [f"{log_path(tmp_path, rank=1)}: Permission denied"]


def test_a_file_that_is_gone_before_its_start_is_known_stops_nothing(server, tmp_path):
    server.faults = [(503, 0, "no database")] * 3
    append(log_path(tmp_path), lines(0, 20))
    append(log_path(tmp_path, rank=1), lines(0, 20))
    with Running(config(server, tmp_path)):
        wait_until(lambda: len(server.faults) < 3)
        log_path(tmp_path, rank=1).unlink()
        wait_until(lambda: server.files().get(FIRST) == lines(0, 20))
