"""Real trainings are broken, rolled back through the button and restarted three times.

The first restart is killed before it has saved anything, so that the second one has to begin at the
ordered step again; the third one must not: the branch has progress of its own by then.
"""

import itertools
import shlex

import pytest

from tests.frameworks.conftest import Cluster

pytestmark = pytest.mark.frameworks

BREAKS_AT, DIES_AT = 260, 300
UNTIL = 340
"""Far enough past the break for a verdict; the newest checkpoint by then is SAVED."""
SAVED = 320
LATER_NS = 600 * 10**9


def snapshot(folder):
    """name -> size and time of everything in a folder, links not followed."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


def rolled_back(cluster):
    """The order that a person gives after the loss of this run exploded."""
    assert BREAKS_AT <= cluster.incident()["onset_step"] <= BREAKS_AT + 1
    order = cluster.press_the_button()
    assert order["step"] < BREAKS_AT
    return order


def test_hugging_face_trainer(stack, client, forks, tmp_path):
    old = tmp_path / "out"
    cluster = Cluster(stack, "hf-toy", tmp_path, client, forks, "hf_toy.py")
    cluster.train("--output_dir", str(old), until_step=DIES_AT, TOY_BREAKS_AT=str(BREAKS_AT),
                  TOY_KEEPS="20")  # fmt: skip
    cluster.send("--trainer-state", str(old))
    order = rolled_back(cluster)
    before, step = snapshot(old), order["step"]

    def start(until_step):
        told = cluster.resume_point("--acknowledge", "toy-1")
        began = cluster.train(*shlex.split(told["CKPT_START_ARGS"]), until_step=until_step)
        return told["CKPT_BRANCH_DIR"], began

    assert start(step + 10) == (order["branch_dir"], step)
    assert start(UNTIL) == (order["branch_dir"], step)
    cluster.send("--trainer-state", order["branch_dir"], "--time-shift-ns", str(LATER_NS))
    followed = stack.get(f"runs/hf-toy/orders/{order['id']}")
    assert (followed["resumed_step"], followed["state"]) == (step + 1, "recovered")
    assert start(UNTIL + 5) == (order["branch_dir"], SAVED)
    assert snapshot(old) == before


def test_a_loop_with_distributed_checkpoints(stack, client, forks, tmp_path):
    old, tell = tmp_path / "ckpt", tmp_path / "tell"
    tell.mkdir()
    cluster = Cluster(stack, "dcp-toy", tmp_path, client, forks, "dcp_toy.py")
    shifts = itertools.count(0, LATER_NS)

    def train(until_step, **env):
        began = cluster.train("--tell", str(tell), until_step=until_step, **env)
        shift = ("--time-shift-ns", str(next(shifts)))
        # The rows first: they tell of the start that the checkpoints belong to.
        cluster.send("--jsonl", str(tell / "metrics.jsonl"), *shift)
        cluster.send("--checkpoints", str(tell / "checkpoint_events.jsonl"), *shift)
        return began

    def start(until_step):
        told = cluster.resume_point("--acknowledge", "toy-1")
        return told["CKPT_BRANCH_DIR"], train(until_step, **told)

    train(DIES_AT, CKPT_BRANCH_DIR=str(old), TOY_BREAKS_AT=str(BREAKS_AT))
    order = rolled_back(cluster)
    before, step = snapshot(old), order["step"]
    assert start(step + 10) == (order["branch_dir"], step)
    followed = stack.get(f"runs/dcp-toy/orders/{order['id']}")
    assert (followed["resumed_step"], followed["state"]) == (step + 1, "resumed")
    assert start(UNTIL) == (order["branch_dir"], step)
    assert start(UNTIL + 5) == (order["branch_dir"], SAVED)
    assert stack.get(f"runs/dcp-toy/orders/{order['id']}")["state"] == "recovered"
    assert snapshot(old) == before
