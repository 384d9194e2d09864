"""What the agent sends of checkpoint_events.jsonl."""

import base64
import json

import pytest

from tests.agents import Running, append, config, limits, lines, log_path, send_once, wait_until

START_S = 1_795_981_560


def event(step, seconds=100.0, **fields):
    path = f"/data/r/checkpoints/step-{step}"
    base = {"ts": START_S + seconds, "step": step, "path": path, "save_s": 1.5, "files": {"a": 3}}
    return base | fields


def write(tmp_path, *events):
    append(tmp_path / "events.jsonl", b"".join(json.dumps(e).encode() + b"\n" for e in events))


def settings(server, tmp_path, **changes):
    return config(server, tmp_path, checkpoints=(tmp_path / "events.jsonl",), **changes)


def test_each_line_is_an_event_of_the_start_at_its_time(server, tmp_path):
    append(log_path(tmp_path), lines(0, 3))
    append(log_path(tmp_path, attempt=1), lines(50, 53))
    write(tmp_path, event(10, 5), event(20, 200))

    send_once(settings(server, tmp_path))

    assert server.events() == [(0, event(10, 5)), (1, event(20, 200))]


def test_without_any_start_the_server_decides(server, tmp_path):
    write(tmp_path, event(10))

    send_once(settings(server, tmp_path, torchrun=()))

    assert server.events() == [(None, event(10))]


def test_events_wait_for_the_start_to_be_known(server, tmp_path):
    write(tmp_path, event(10))
    with Running(settings(server, tmp_path, limits=limits(idle_s=30.0))):
        append(log_path(tmp_path), lines(0, 3))
        wait_until(server.events)

    assert server.events() == [(0, event(10))]


def test_the_metadata_beside_the_events_is_attached(server, tmp_path):
    folder = tmp_path / "checkpoints" / "step-10"
    folder.mkdir(parents=True)
    (folder / ".metadata").write_bytes(b"meta\x00")
    write(tmp_path, event(10), event(20))

    send_once(settings(server, tmp_path, torchrun=()))

    (_, first), (_, second) = server.events()
    assert base64.b64decode(first["metadata_b64"]) == b"meta\x00"
    assert "metadata_b64" not in second


def test_the_metadata_at_the_path_itself_is_attached(server, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".metadata").write_bytes(b"there")
    write(tmp_path, event(10, path=str(tmp_path / "elsewhere")))

    send_once(settings(server, tmp_path, torchrun=()))

    assert base64.b64decode(server.events()[0][1]["metadata_b64"]) == b"there"


def test_a_large_metadata_is_left_out(server, tmp_path):
    folder = tmp_path / "checkpoints" / "step-10"
    folder.mkdir(parents=True)
    (folder / ".metadata").write_bytes(b"x" * 100)
    write(tmp_path, event(10))

    send_once(settings(server, tmp_path, torchrun=(), limits=limits(metadata_bytes=100)))

    assert server.events() == [(None, event(10))]


@pytest.mark.parametrize(
    "bad", [b"{oops", b"[1]", b'{"ts": "x"}', b'{"ts": 1, "step": 2}', b"\xff"]
)
def test_a_bad_line_is_counted_and_passed_over(server, tmp_path, bad):
    append(tmp_path / "events.jsonl", bad + b"\n\n")
    write(tmp_path, event(10))

    status = send_once(settings(server, tmp_path, torchrun=()))

    assert server.events() == [(None, event(10))]
    assert status["bad_checkpoint_lines"] == 1


def test_the_time_shift_is_in_the_body_and_the_event_stays_as_written(server, tmp_path):
    write(tmp_path, event(10))

    send_once(settings(server, tmp_path, torchrun=(), time_shift_ns=7))

    ((header, _),) = server.opened("checkpoints")
    assert (header["time_shift_ns"], header["events"]) == (7, [event(10)])
