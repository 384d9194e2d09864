"""More files than handles: all are read, few are open, silent ones are rarely looked at."""

import itertools
import os
import resource

import pytest

from tests.agents import append, config, lines, log_path, send_once
from workers.tailer import openfiles
from workers.tailer.followed import FollowedFile
from workers.tailer.openfiles import OpenFiles, allowed


@pytest.fixture
def few(monkeypatch):
    """Eight files of this process may be open."""
    files = OpenFiles(8)
    monkeypatch.setattr("workers.tailer.followed.FILES", files)
    return files


def test_more_files_than_handles_are_read_whole(server, tmp_path, few, monkeypatch):
    most, real = [], few.used

    def used(file):
        real(file)
        most.append(len(few))

    monkeypatch.setattr(few, "used", used)
    for rank in range(60):
        append(log_path(tmp_path, rank=rank), lines(0, 20 + rank))

    send_once(config(server, tmp_path))

    sent = {int(source.split("/")[2]): data for (_, source, _), data in server.files().items()}
    assert sent == {rank: lines(0, 20 + rank) for rank in range(60)}
    assert max(most) == 8


def test_a_handle_that_was_needed_elsewhere_is_opened_again(tmp_path, few):
    path = tmp_path / "a.log"
    append(path, b"one\ntwo\n")
    file = FollowedFile(path)
    assert file.available() == 8
    file.close()
    assert file.read(4) == b"one\n"
    path.rename(tmp_path / "a.log.1")
    append(path, b"other")
    file.close()
    assert file.read(4) == b"one\n"
    (tmp_path / "a.log.1").unlink()
    file.close()
    with pytest.raises(OSError, match="was replaced while it was read"):
        file.read(4)


def test_a_silent_file_is_looked_at_every_two_seconds_at_most(tmp_path, monkeypatch):
    path, clock, looks = tmp_path / "a.log", [0.0], []
    append(path, b"x\n")
    monkeypatch.setattr("workers.tailer.followed.time.monotonic", lambda: clock[0])
    file = FollowedFile(path)
    file.available()
    file.advance(2)
    real = os.fstat

    def fstat(handle):
        looks.append(clock[0])
        return real(handle)

    monkeypatch.setattr("workers.tailer.followed.os.fstat", fstat)
    monkeypatch.setattr("workers.tailer.followed.CLOSE_AFTER_S", 1e9)
    for tick in range(4 * 600):
        clock[0] = tick / 4
        file.available()

    pauses = [after - before for before, after in itertools.pairwise(looks)]
    assert max(pauses) <= 2.25
    assert len(looks) < 400
    clock[0] += 0.1
    append(path, b"y\n")
    file.hurry()
    assert file.available() == 2


def test_the_limit_of_the_process_is_raised_as_far_as_it_may(monkeypatch):
    told = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1_048_576))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: told.append(pair))
    assert allowed() == openfiles.MOST
    assert told == [(openfiles.MOST + openfiles.SPARE, 1_048_576)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert allowed() == 256 - openfiles.SPARE
