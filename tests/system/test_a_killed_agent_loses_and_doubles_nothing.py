"""SIGKILL of the node agent between any two of its steps, and at random moments."""

import pytest

from apps.logs.domain.parcel.reader import reader_number
from tests.agent_server import DROP, AgentServer
from tests.agents import append, config, lines, log_path, send_once
from tests.event_files import framed, scalar, version
from tests.killed_agent import kill_at_each_step, kill_at_random_moments, start
from tests.wandb_records import frame, history
from workers.tailer import templates
from workers.tailer.pathsources import PathSource

KEY = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)


@pytest.fixture
def server():
    running = AgentServer()
    yield running
    running.close()


@pytest.mark.parametrize("reader", [None, reader_number()], ids=["bytes", "parcels"])
def test_between_any_two_steps(server, tmp_path, reader):
    server.reader = reader
    path = log_path(tmp_path)
    pieces = [lines(n, n + 60) for n in range(0, 20 * 60, 60)]

    killed = kill_at_each_step(config(server, tmp_path), path, pieces)
    send_once(config(server, tmp_path))

    assert killed > 8
    assert server.files() == {KEY: path.read_bytes()}
    assert {kind for kind, _ in server.batches.values()} == {"packed" if reader else "logs"}


def test_between_any_two_steps_with_lost_answers(server, tmp_path):
    path = log_path(tmp_path)
    server.faults = [None, DROP, (503, 0, "full")] * 30
    pieces = [lines(n, n + 60) for n in range(0, 20 * 60, 60)]

    kill_at_each_step(config(server, tmp_path), path, pieces)
    server.faults = []
    send_once(config(server, tmp_path))

    assert server.files() == {KEY: path.read_bytes()}


@pytest.mark.parametrize("seed", [1, 2])
def test_at_random_moments_of_a_growing_file(server, tmp_path, seed):
    path = log_path(tmp_path)
    pieces = [lines(n, n + 100)[:-9] for n in range(0, 600, 100)]

    kill_at_random_moments(config(server, tmp_path), path, pieces, seed)
    send_once(config(server, tmp_path))

    assert server.files() == {KEY: path.read_bytes()}


def test_a_pods_log_that_is_rotated_between_kills(server, tmp_path):
    log = tmp_path / "pods/train_gpt-worker-0_0a1b/pytorch/0.log"
    log.parent.mkdir(parents=True)
    source = PathSource("pods", templates.parse(f"{tmp_path}/pods/{templates.PODS}"))
    settings = config(server, tmp_path, torchrun=(), run="", logs=(source,), once=True)
    pieces = [lines(n, n + 40) for n in range(0, 16 * 40, 40)]
    for steps, piece in enumerate(pieces):
        append(log, piece)
        agent = start(settings, steps)
        agent.join()
        if steps % 3 == 2:
            log.rename(log.with_name(f"0.log.20261129-{steps:06d}"))
    send_once(settings)

    arrived = server.files()
    whole = b"".join(arrived[key] for key in sorted(arrived, key=lambda key: key[2]))
    assert whole == b"".join(pieces)
    assert len(arrived) == 6


def test_records_of_a_growing_wandb_file(server, tmp_path):
    records = [history({"_step": n, "loss": 1.0 / (n + 1)}) for n in range(4000)]
    path = tmp_path / "wandb" / "offline-run-1" / "run-r.wandb"
    path.parent.mkdir(parents=True)
    data = frame(records)
    pieces = [data[at : at + 40_000] for at in range(0, len(data), 40_000)]
    settings = config(server, tmp_path, torchrun=(), wandb=(tmp_path / "wandb",))

    kill_at_random_moments(settings, path, pieces, 3)
    send_once(settings)

    assert server.records() == {"run-r.wandb": records}


def test_records_of_a_growing_event_file(server, tmp_path):
    records = [version(), *(scalar(n, 1.0 / (n + 1)) for n in range(3000))]
    path = tmp_path / "tb" / "events.out.tfevents.1000.gpu-a01.7.0"
    path.parent.mkdir()
    data = framed(records)
    pieces = [data[at : at + 40_000] for at in range(0, len(data), 40_000)]
    settings = config(server, tmp_path, torchrun=(), tensorboard=(tmp_path / "tb",))

    kill_at_random_moments(settings, path, pieces, 4)
    send_once(settings)

    (found,) = server.pieces("tensorboard").values()
    assert list(found.values()) == records


def test_rows_between_any_two_steps(server, tmp_path):
    path = tmp_path / "metrics.csv"
    rows = [b"%d,%d.5,%s\n" % (n, n, b"x" * 80) for n in range(1200)]
    pieces = [b"".join(rows[at : at + 60]) for at in range(0, len(rows), 60)]
    settings = config(server, tmp_path, torchrun=(), csv=(path,))

    killed = kill_at_each_step(settings, path, [b"step,loss,note\n" + pieces[0], *pieces[1:]])
    send_once(settings)

    assert killed > 8
    (found,) = server.pieces("rows").values()
    assert list(found.values()) == rows
