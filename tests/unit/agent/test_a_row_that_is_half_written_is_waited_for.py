"""Writers that flush whole blocks: a row or an event lies in the file without its end for long."""

import json

import pytest

from tests.agents import Running, append, config, send_once, wait_until

ROW = b'{"step": 2, "loss": 2.5}\n'
EVENT = {"ts": 1_795_981_560.0, "step": 10, "path": "/ckpt/10", "files": {"a": 3}}


@pytest.fixture
def settings(server, tmp_path):
    """idle_s is 0.3 s here."""
    return config(
        server,
        tmp_path,
        torchrun=(),
        jsonl=(tmp_path / "metrics.jsonl",),
        checkpoints=(tmp_path / "events.jsonl",),
    )


def records(server):
    return [data for _, data in server.opened("rows")]


def quiet(running, seconds):
    return all(file.quiet_s() > seconds for file in running.agent._collector.files())


def test_a_row_is_sent_when_its_end_is_there_however_late(server, tmp_path, settings):
    path = tmp_path / "metrics.jsonl"
    append(path, b'{"step": 1, "loss": 3}\n' + ROW[:9])
    with Running(settings) as running:
        wait_until(lambda: records(server) and quiet(running, 0.5))
        append(path, ROW[9:])
        wait_until(lambda: sum(map(len, records(server))) == path.stat().st_size)
    assert records(server)[1:] == [ROW]


def test_a_checkpoint_event_is_sent_when_its_end_is_there(server, tmp_path, settings):
    path, line = tmp_path / "events.jsonl", json.dumps(EVENT).encode() + b"\n"
    append(path, line[:20])
    with Running(settings) as running:
        wait_until(lambda: quiet(running, 0.5))
        append(path, line[20:])
        wait_until(server.events)
    assert [event for _, event in server.events()] == [EVENT]
    assert running.status["bad_checkpoint_lines"] == 0


def test_a_last_row_without_its_end_in_a_complete_file_is_sent(server, tmp_path, settings):
    append(tmp_path / "metrics.jsonl", ROW + ROW[:-1])
    send_once(settings)
    assert b"".join(records(server)) == ROW + ROW[:-1]
