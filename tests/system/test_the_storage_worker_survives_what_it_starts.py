"""The storage worker as a real process: its queue, its child, a child that is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ckpt_trees import dcp_files, lay
from tests.stack import ROOT, until

SLOW_BYTES_S = len(dcp_files()[".metadata"]) // 2
ADD = """
import django; django.setup()
from apps.accounts.records import SYSTEM
from apps.checkpoints import roots
from apps.checkpoints.root_records import RootRule
from apps.core.clock import now_ns
from apps.runs import store
roots.add(RootRule({uri!r}, store.ensure_run("stored"), "", "", 30), SYSTEM, now_ns())
"""


@pytest.fixture
def root(stack, tmp_path):
    """A root with three steps, and a storage worker that reads them slowly."""
    for step in (100, 200, 300):
        lay(tmp_path / f"step-{step}")
    worker = ["celery", "-A", "workers.celery", "worker", "--queues", "storage"]
    more = ["--pool", "threads", "--concurrency", "2", "--hostname", "storage@%h", "-l", "INFO"]
    before = dict(stack.env)
    stack.env["CHECKPOINT_ROOTS"] = str(tmp_path)
    stack.env["CHECKPOINT_SCAN_BYTES_S"] = str(SLOW_BYTES_S)
    stack.start("storage", [sys.executable, "-m", *worker, *more])
    try:
        until(lambda: "ready" in stack.log("storage"), "the storage worker")
        add = [sys.executable, "-c", ADD.format(uri=str(tmp_path))]
        subprocess.run(add, cwd=ROOT, env=stack.env, timeout=60, check=True)
        yield tmp_path
    finally:
        stack.kill("storage")
        stack.env = before


def registered(stack):
    return {c["step"]: c["level"] for c in stack.get("runs/stored/checkpoints")["items"]}


def look(stack):
    return stack.query("SELECT last FROM checkpoints_storageroot ORDER BY id DESC LIMIT 1")[0][0]


def child_of(pid):
    """The storage child that a process has started, None while there is none."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == pid and b"storage.child" in (path / "cmdline").read_bytes():
                return int(path.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return None


def test_a_killed_child_costs_the_rest_of_its_look_and_not_the_worker(stack, root):
    until(lambda: registered(stack) == {300: "headers_verified"}, "the newest step")
    worker = stack.running["storage"]
    os.kill(child_of(worker.pid), signal.SIGKILL)
    until(lambda: look(stack) is not None, "the end of the look")
    assert look(stack)["outcome"] == "partial"
    assert look(stack)["message"] == "it was ended by signal 9"
    assert registered(stack)[300] == "headers_verified"
    assert worker.poll() is None
