"""What the agent sends of `.wandb` files."""

import pytest

from apps.core.errors import AppError
from apps.ingest.wandb.descriptor import MESSAGES
from apps.ingest.wandb.parse import decode, parse_body
from tests.agents import (
    Running,
    append,
    append_by_pieces,
    config,
    limits,
    lines,
    log_path,
    send_once,
    wait_until,
)
from tests.wandb_records import frame, history, record

START = MESSAGES["Run"](run_id=b"r", start_time=MESSAGES["Time"](seconds=1_700_000_000))
RECORDS = [record("run", START), *(history({"_step": n, "loss": 1.0}) for n in range(3000))]


def wandb_file(tmp_path, start=1):
    path = tmp_path / "wandb" / f"offline-run-{start}" / "run-r.wandb"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def settings(server, tmp_path, **changes):
    return config(server, tmp_path, torchrun=(), wandb=(tmp_path / "wandb",), **changes)


def test_every_record_arrives_once_and_in_order(server, tmp_path):
    append(wandb_file(tmp_path), frame(RECORDS))

    send_once(settings(server, tmp_path))

    assert server.records() == {"run-r.wandb": RECORDS}
    assert len(server.order) > 10


def test_a_growing_file_arrives_as_it_grows(server, tmp_path):
    with Running(settings(server, tmp_path)):
        append_by_pieces(wandb_file(tmp_path), frame(RECORDS), 32_768)
        wait_until(lambda: server.records().get("run-r.wandb") == RECORDS)


def test_a_record_larger_than_a_batch_arrives_whole(server, tmp_path):
    records = [record("run", START), record(9, b"x" * 700_000), history({"_step": 1})]
    append(wandb_file(tmp_path), frame(records))

    send_once(settings(server, tmp_path))

    assert server.records() == {"run-r.wandb": records}


def test_the_body_is_what_the_parser_expects(server, tmp_path):
    append(wandb_file(tmp_path), frame(RECORDS[:5]))

    send_once(settings(server, tmp_path, time_shift_ns=9))

    ((_, raw),) = server.batches.values()
    body = parse_body(raw)
    assert (body.file, body.node, body.first_record) == ("run-r.wandb", "gpu-a01", 0)
    assert (body.attempt, body.time_shift_ns, list(body.records)) == (0, 9, RECORDS[:5])
    assert len(decode(body.records, now_ns=0).rows) == 4


def test_each_file_is_a_start_at_the_time_its_run_record_says(server, tmp_path):
    append(wandb_file(tmp_path), frame(RECORDS[:5]))
    append(wandb_file(tmp_path, start=2), frame(RECORDS[:5]))

    send_once(settings(server, tmp_path))

    assert [(b["slot"], b["launch"], b["started_ns"]) for b in server.launch_bodies] == [
        ("wandb", "offline-run-1/run-r.wandb", 1_700_000_000_000_000_000),
        ("wandb", "offline-run-2/run-r.wandb", 1_700_000_000_000_000_000),
    ]
    assert [header["attempt"] for header, _ in server.opened("wandb")] == [0, 1]


def test_a_file_without_a_start_waits_while_it_may_come(server, tmp_path):
    append(wandb_file(tmp_path), frame(RECORDS[1:3]))
    append(log_path(tmp_path), lines(0, 3))
    both = settings(server, tmp_path, console=(log_path(tmp_path),))
    with Running(both):
        wait_until(lambda: server.files())
        assert server.records() == {}

    send_once(both)
    assert server.records() == {"run-r.wandb": RECORDS[1:3]}


def test_a_damaged_place_is_reported_and_the_rest_arrives(server, tmp_path):
    data = bytearray(frame(RECORDS))
    data[40_000] ^= 0xFF
    append(wandb_file(tmp_path), bytes(data))

    status = send_once(settings(server, tmp_path, limits=limits(batch_bytes=8192)))

    assert 1 <= status["wandb_problems"] <= 2
    assert 1500 < len(server.records()["run-r.wandb"]) < 3000


def test_a_file_that_ends_inside_a_record_is_reported(server, tmp_path):
    append(wandb_file(tmp_path), frame(RECORDS)[:-5])

    assert send_once(settings(server, tmp_path))["wandb_problems"] == 1
    assert server.records() == {"run-r.wandb": RECORDS[:-1]}


def test_another_file_is_an_error_of_a_one_time_transfer(server, tmp_path):
    append(wandb_file(tmp_path), b"this is something else")

    with pytest.raises(AppError, match=r"run-r\.wandb: byte 0: starts with"):
        send_once(settings(server, tmp_path))
