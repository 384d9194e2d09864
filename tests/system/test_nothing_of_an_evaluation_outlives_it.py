"""workers.evaluator: real commands, killed in every way there is."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from apps.checkpoints.domain.evaluating import How, Lease
from workers.evaluator.running import HOLDER, Running, Work

QUICK = Lease(lease_s=2, renew_s=0.1, silent_s=0.4)
ESCAPES = "setsid sh -c 'echo $$ > pid; trap \"\" TERM; while :; do sleep 0.05; done' &"
"""A process that goes into a session of its own and does not heed SIGTERM."""


def run(tmp_path, script, *, renew=lambda text, size: None, timeout_s=60, stop=None, **env):
    argv = ["/bin/sh", "-c", script]
    work = Work(argv, tmp_path, {"PATH": os.environ["PATH"], **env}, timeout_s, QUICK, grace_s=0.3)
    return Running(work, renew, stop or threading.Event()).end()


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def pid_in(tmp_path):
    until = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < until
        time.sleep(0.02)
    return int((tmp_path / "pid").read_text())


def test_a_command_that_ends_well_is_done_with_what_it_printed(tmp_path):
    ended = run(tmp_path, "echo out; echo err >&2; pwd")
    assert (ended.how, ended.exit_code, ended.reason) == (How.DONE, 0, "")
    assert ended.log.decode() == f"out\nerr\n{tmp_path}\n"
    assert ended.log_bytes == len(ended.log)


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [("exit 3", 3, "exit code 3"), ("kill -9 $$", -9, "signal 9 (SIGKILL)")],
)
def test_a_command_that_ends_badly_says_how(tmp_path, script, code, told):
    ended = run(tmp_path, script)
    assert (ended.how, ended.exit_code) == (How.EXIT, code)
    assert told in ended.reason


def test_a_program_that_is_not_there_was_never_started(tmp_path):
    work = Work(["/no/such/program"], tmp_path, {}, 60, QUICK)
    ended = Running(work, lambda text, size: None, threading.Event()).end()
    assert (ended.how, ended.exit_code) == (How.UNSTARTED, None)
    assert "/no/such/program" in ended.reason


def test_what_a_command_leaves_running_is_killed_after_it(tmp_path):
    ended = run(tmp_path, f"{ESCAPES} while [ ! -s pid ]; do sleep 0.02; done")
    assert ended.how is How.DONE
    assert not alive(pid_in(tmp_path))


def test_a_command_out_of_time_is_killed_with_all_it_started(tmp_path):
    ended = run(tmp_path, f"trap '' TERM; {ESCAPES} while :; do sleep 0.05; done", timeout_s=1)
    assert (ended.how, ended.exit_code) == (How.TIMEOUT, -9)
    assert ended.reason == "it was killed after 1 s, the time its suite gives it"
    assert not alive(pid_in(tmp_path))


def test_a_command_is_killed_when_its_lease_is_gone_or_somebody_takes_it_back(tmp_path):
    for how in (How.LOST, How.CANCELLED):
        assert run(tmp_path, "sleep 60", renew=lambda text, size, how=how: how).how is how


def test_a_command_is_killed_before_a_lease_that_cannot_be_renewed_is_over(tmp_path):
    def away(text, size):
        raise OSError("no database")

    began = time.monotonic()
    assert run(tmp_path, "sleep 60", renew=away).how is How.LOST
    assert time.monotonic() - began >= QUICK.silent_s


def test_a_restart_of_the_evaluator_ends_the_command(tmp_path):
    stop = threading.Event()
    stop.set()
    assert run(tmp_path, "sleep 60", stop=stop).how is How.STOPPED


def test_a_flood_of_output_is_bounded_and_keeps_its_beginning_and_its_end(tmp_path):
    ended = run(tmp_path, "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert (ended.how, ended.log_bytes) == (How.DONE, 3_000_012)
    assert ended.log.startswith(b"first\nxxx") and ended.log.endswith(b"x\nlast\n")
    assert b"bytes are not kept ...]" in ended.log
    assert len(ended.log) <= 256 * 1024


def test_progress_is_seen_while_it_runs(tmp_path):
    seen = []

    def renew(text, size):
        seen.append(text)
        return How.CANCELLED if b"working" in text else None

    assert run(tmp_path, "echo working; sleep 60", renew=renew).how is How.CANCELLED
    assert seen[-1] == b"working\n"


def test_a_command_gets_only_the_variables_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    printed = run(tmp_path, "env", LASTGOOD_STEP="9").log.decode()
    assert "LASTGOOD_STEP=9" in printed and "secret" not in printed


PARENT = """
import json, subprocess, sys, time
holder = subprocess.Popen([sys.executable, "-I", sys.argv[1]], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, start_new_session=True)
spec = {"argv": ["/bin/sh", "-c", sys.argv[2]], "cwd": sys.argv[3], "env": {"PATH": sys.argv[4]},
        "log": sys.argv[3] + "/log", "head_bytes": 99, "tail_bytes": 99, "grace_s": 0.1}
holder.stdin.write(json.dumps(spec).encode() + b"\\n")
holder.stdin.flush()
print(holder.pid, flush=True)
time.sleep(60)
"""


def test_a_killed_evaluator_takes_its_command_with_it(tmp_path):
    script = f"{ESCAPES} while :; do sleep 0.05; done"
    argv = [sys.executable, "-c", PARENT, str(HOLDER), script, str(tmp_path), os.environ["PATH"]]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as parent:
        holder, pid = int(parent.stdout.readline()), pid_in(tmp_path)
        assert alive(pid)
        parent.kill()
    until = time.monotonic() + 20
    while alive(pid) or alive(holder):
        assert time.monotonic() < until
        time.sleep(0.02)
