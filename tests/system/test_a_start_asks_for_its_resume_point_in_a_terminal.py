"""`lastgood resume-point` as one file, on its own, against a running Lastgood."""

import itertools
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.factories import metric_body
from tests.stack import until
from workers.cli.bundle import bundle

_numbers = itertools.count()


@dataclass
class Client:
    """A run with one checkpoint on this machine, and the client that starts it."""

    stack: Any
    file: Path
    run: str
    step: Path

    def __call__(self, *args: str, **given: str) -> subprocess.CompletedProcess[str]:
        """Runs it, isolated from everything but the standard library."""
        env = {
            "LASTGOOD_TOKEN": self.stack.token,
            "LASTGOOD_URL": self.stack.url,
            "LASTGOOD_ORDER_KEY": (self.stack.home / "secrets/order_signing_key").read_text(),
            "PATH": os.environ["PATH"],
            **given,
        }
        words = [sys.executable, "-I", "-S", str(self.file), "resume-point", self.run, *args]
        return subprocess.run(words, env=env, capture_output=True, text=True, check=False)

    def post(self, path: str, body: object) -> Any:
        """A request to the run; its answer."""
        headers = {"Authorization": f"Bearer {self.stack.token}"}
        url = f"{self.stack.url}/api/v1/runs/{self.run}/{path}"
        sent = httpx.post(url, json=body, headers=headers, timeout=20)
        assert sent.is_success, sent.text
        return sent.json()

    def order(self, step: int) -> int:
        """The number of a rollback order."""
        return self.post("rollback", {
            "step": step, "confirm": step, "reason": "loss exploded", "force": True,
            "idempotency_key": f"{self.run}-{step}",
        })["id"]  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    made = tmp_path_factory.mktemp("client") / "lastgood"
    bundle(made)
    return made


@pytest.fixture
def client(stack, file, tmp_path):
    step = tmp_path / "out" / "checkpoint-40"
    step.mkdir(parents=True)
    (step / "trainer_state.json").write_text('{"global_step": 40}')
    (step / "model.safetensors").write_bytes(b"x" * 100)
    made = Client(stack, file, f"resume-{next(_numbers)}", step)
    files = {path.name: path.stat().st_size for path in step.iterdir()}
    event = {"ts": time.time(), "step": 40, "path": str(step), "save_s": 1.0, "files": files}
    made.post("metrics", orjson.loads(metric_body(dict.fromkeys(range(50), 2.0))))
    made.post("checkpoints", {"attempt": 0, "events": [event]})
    until(lambda: stack.drained(made.run), "the checkpoint")
    return made


def test_a_start_prepares_its_branch_and_takes_the_order_on(client):
    number = client.order(40)
    branch = client.step.parent.with_name(f"out.rollback-{number}")
    done = client("--prepare", "--acknowledge", "slurm-77")
    assert done.returncode == 0, done.stderr
    assert f"RB-{number} was acknowledged as slurm-77" in done.stderr
    shown = subprocess.run(
        ["/bin/sh", "-c", 'eval "$1"; echo "$CKPT_RESUME_STEP $CKPT_RESUME_PATH $CKPT_START_ARGS"',
         "sh", done.stdout],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert shown == f"40 {branch}/checkpoint-40 --output_dir {branch}\n"
    assert json.loads((branch / "checkpoint-40" / "trainer_state.json").read_text())
    assert client.stack.get(f"runs/{client.run}/orders/{number}")["state"] == "acknowledged"
    assert client("--prepare", "--acknowledge", "slurm-77").stdout == done.stdout


def test_an_order_that_cannot_be_prepared_is_not_taken_on(client):
    number = client.order(40)
    (client.step / "model.safetensors").unlink()
    done = client("--prepare", "--acknowledge", "slurm-77")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not what its inventory says" in done.stderr
    assert client.stack.get(f"runs/{client.run}/orders/{number}")["state"] == "requested"


def test_an_order_is_waited_for(client):
    words = [sys.executable, "-I", "-S", str(client.file), "resume-point", client.run,
             "--wait", "60", "--format", "json"]  # fmt: skip
    key = (client.stack.home / "secrets/order_signing_key").read_text()
    env = {"LASTGOOD_TOKEN": client.stack.token, "LASTGOOD_URL": client.stack.url,
           "LASTGOOD_ORDER_KEY": key}  # fmt: skip
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as waiting:
        number = client.order(40)
        assert waiting.stdout is not None
        assert json.load(waiting.stdout)["order"] == number


def test_an_order_file_is_enough_where_no_server_can_be_asked(client):
    number = client.order(40)
    order_file = client.stack.home / "orders" / f"{client.run}.json"
    done = client("--file", str(order_file), "--format", "path", LASTGOOD_TOKEN="")
    assert done.stdout.strip().endswith(f"out.rollback-{number}/checkpoint-40")
    changed = client.step.parent / "changed.json"
    changed.write_text(order_file.read_text().replace("loss exploded", "all is well"))
    done = client("--file", str(changed), "--prepare")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the signature does not fit" in done.stderr


@pytest.mark.parametrize(
    ("args", "given", "words"),
    [
        ((), {"LASTGOOD_ORDER_KEY": "another"}, "the signature does not fit"),
        ((), {"LASTGOOD_ORDER_KEY": ""}, "no key of the signature"),
        (("--patience", "0"), {"LASTGOOD_URL": "http://127.0.0.1:1"}, "does not answer"),
        (("--file", "/nowhere/x.json"), {}, "no order waits"),
    ],
)
def test_a_start_without_a_trusted_answer_does_not_begin(client, args, given, words):
    done = client(*args, **given)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
