"""`python -m workers.tailer`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apps.core.errors import AppError
from tests.agents import append, lines, log_path, wait_until
from workers.tailer.__main__ import config_of, main, parser
from workers.tailer.agent import Agent

ROOT = Path(__file__).parents[3]
KEY = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)


def words(server, tmp_path, *more):
    (tmp_path / "token").write_text("secret\n")
    paths = {"--token-file": "token", "--state": "state", "--torchrun": "logs"}
    given = [word for name, path in paths.items() for word in (name, str(tmp_path / path))]
    return ["--run", "r", "--node", "gpu-a01", "--url", server.url, *given, *more]


def test_once_sends_everything_and_ends(server, tmp_path):
    append(log_path(tmp_path), lines(0, 20))

    assert main(words(server, tmp_path, "--once")) == 0
    assert server.files() == {KEY: lines(0, 20)}


def test_an_error_is_one_line_and_status_1(server, tmp_path, capsys):
    append(log_path(tmp_path), lines(0, 20))
    arguments = words(server, tmp_path, "--once")
    (tmp_path / "token").write_text("wrong")

    assert main(arguments) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("--token-file: the server refuses")


def test_a_missing_token_says_how_to_make_one(server, tmp_path):
    options = parser().parse_args(words(server, tmp_path))
    (tmp_path / "token").unlink()

    with pytest.raises(AppError, match=r"No such file.*manage\.py token NAME --scope ingest"):
        config_of(options)


def test_paths_do_not_depend_on_the_current_folder(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = parser().parse_args(words(server, tmp_path, "--wandb", "wandb", "--console", "c.log"))

    settings = config_of(options)

    assert (settings.wandb, settings.console) == ((tmp_path / "wandb",), (tmp_path / "c.log",))


def test_two_agents_on_one_state_folder_are_refused(server, tmp_path):
    settings = config_of(parser().parse_args(words(server, tmp_path, "--once")))
    first = Agent(settings)

    with pytest.raises(AppError, match="another agent uses this state folder"):
        Agent(settings)
    first.run()


def test_sigterm_sends_what_is_complete_and_ends(server, tmp_path):
    append(log_path(tmp_path), lines(0, 20))
    command = [sys.executable, "-m", "workers.tailer", *words(server, tmp_path)]
    agent = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_until(lambda: server.files().get(KEY) == lines(0, 20))
    append(log_path(tmp_path), lines(20, 30))
    os.kill(agent.pid, signal.SIGTERM)

    assert agent.wait(10) == 0
    assert server.files() == {KEY: lines(0, 30)}
    status = json.loads((tmp_path / "state" / "status.json").read_text())
    assert (status["sent_lines"], status["spool_batches"], status["lag_s"]) == (30, 0, 0.0)


def test_the_agent_imports_no_server_code():
    code = "import sys, workers.tailer.__main__ as m; print(sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert not {"django", "celery", "psycopg", "redis"} & set(eval(run.stdout))  # noqa: S307


def test_once_ends_with_1_if_something_was_refused(server, tmp_path, capsys):
    append(log_path(tmp_path), lines(0, 20))
    server.faults = [None, (413, "too large")]

    assert main(words(server, tmp_path, "--once")) == 1
    assert "1 batches were refused; see" in capsys.readouterr().err
