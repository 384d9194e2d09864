"""The agent and the output folder of Hugging Face's Trainer, before and after a rollback."""

import json
import os

import pytest

from tests.agents import config, send_once
from workers.cli.branching import MARKER


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def send(server, tmp_path, out):
    """Sends what there is; (steps of rows, steps of checkpoints) that the server has by then."""

    def told():
        send_once(config(server, tmp_path, torchrun=(), trainer_state=(out,)))
        sent = b"".join(data for _, data in server.opened("rows")).splitlines()
        return [json.loads(row)["step"] for row in sent], [e["step"] for _, e in server.events()]

    return told


def save(folder, steps, *, at):
    """The checkpoint at the last of `steps`, with all of them in its history."""
    path = folder / f"checkpoint-{steps[-1]}" / "trainer_state.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"log_history": [{"loss": 0.5, "step": step} for step in steps]}))
    os.utime(path, (at, at))


def test_checkpoints_that_lie_there_from_before_are_told(out, send):
    save(out, [10, 20], at=1_795_981_300)
    save(out, [10, 20, 30, 40], at=1_795_981_400)
    assert send() == ([10, 20, 30, 40], [20, 40])


def test_nothing_of_the_step_that_a_branch_began_from_is_told(tmp_path, out, send):
    save(tmp_path / "old", [10, 20], at=1_795_981_300)
    out.mkdir()
    (out / "checkpoint-20").symlink_to(tmp_path / "old" / "checkpoint-20")
    (out / MARKER).write_text('{"step": 20}')
    assert send() == ([], [])
    save(out, [10, 20, 30, 40], at=1_795_981_400)
    assert send() == ([30, 40], [40])


def test_a_marker_that_nobody_can_read_changes_nothing(out, send):
    save(out, [10, 20], at=1_795_981_300)
    (out / MARKER).write_text("[]")
    assert send() == ([10, 20], [20])
