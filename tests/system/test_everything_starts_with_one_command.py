"""`make up`: from nothing to the ready line, then SIGKILL, with the real services."""

import json
import os
import re
import signal
import subprocess
import sys

import httpx
import pytest

from tests.system.processes import ROOT, Foreground, child, eventually, living

SERVICES = (
    "bin/postgres -D",
    "valkey-server",
    "config.wsgi:application",
    "config.asgi:application",
    "manage.py consumer",
    "workers.celery worker",
    "workers.celery beat",
)


@pytest.fixture(scope="module")
def lastgood(tmp_path_factory):
    running = Foreground(tmp_path_factory.mktemp("home"), module="workers.supervisor")
    yield running
    running.close()


@pytest.fixture(scope="module")
def ready_line(lastgood):
    return lastgood.line("Lastgood is ready", within_s=180)


def status(url):
    try:
        return httpx.get(url, timeout=30).status_code
    except httpx.TransportError:
        return None


def test_the_ready_line_holds_a_login_link_that_works(lastgood, ready_line):
    address = rf"http://127\.0\.0\.1:{lastgood.port}/login/[\w-]+"
    assert re.fullmatch(f"Lastgood is ready: {address}", ready_line)
    assert status(ready_line.split()[-1]) in {200, 302}


@pytest.mark.parametrize("words", SERVICES)
def test_the_service_runs(lastgood, ready_line, words):
    assert child(lastgood.home, words)


def test_web_and_events_answer(lastgood, ready_line):
    assert status(f"http://127.0.0.1:{lastgood.port}/health/ready") == 200
    assert status(f"http://127.0.0.1:{lastgood.port + 1}/health/live") == 200


def test_a_command_in_another_shell_finds_the_servers(lastgood, ready_line):
    note = lastgood.home / "run" / "servers.json"
    assert note.stat().st_mode & 0o777 == 0o600
    assert json.loads(note.read_text())["pid"] == lastgood.pid
    environment = {**os.environ, "LASTGOOD_HOME": str(lastgood.home)}
    command = [sys.executable, "manage.py", "migrate", "--check"]
    assert subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def test_killed_web_is_back_soon(lastgood, ready_line):
    os.kill(child(lastgood.home, "config.wsgi:application"), signal.SIGKILL)

    lastgood.line("^web was killed by SIGKILL")

    page = f"http://127.0.0.1:{lastgood.port}/health/live"
    eventually(lambda: status(page) == 200, 60, "web answers again")


def test_sigkill_of_the_supervisor_leaves_no_service_and_no_pool_process(lastgood, ready_line):
    lastgood.end(signal.SIGKILL)

    eventually(lambda: not living(lastgood.home), 30, "all processes are gone")
