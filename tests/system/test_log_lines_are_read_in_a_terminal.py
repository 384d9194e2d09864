"""The client of the terminal as one file, on its own, against a running Lastgood."""

import json
import os
import signal
import subprocess
import sys
import time

import httpx
import pytest

from tests.factories import log_body
from tests.stack import until
from workers.cli.bundle import bundle

NS = 10**9


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    made = tmp_path_factory.mktemp("client") / "lastgood"
    bundle(made)
    return made


@pytest.fixture(scope="module")
def lastgood(stack, file):
    """Runs it, isolated from everything but the standard library."""

    def run(*args, token=stack.token, url=stack.url):
        env = {"LASTGOOD_TOKEN": token, "LASTGOOD_URL": url, "PATH": os.environ["PATH"]}
        command = [sys.executable, "-I", "-S", str(file), "logs", *args]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run


def line(rank, number, level="INFO"):
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    return f"{stamp},{number:03d} [{level}] [rank{rank}] step {number} of rank {rank}\n"


def send(stack, run, text, *, offset=0, rank=0):
    body = log_body(text.encode(), offset=offset, local_rank=rank, source=f"r/{rank}/stderr.log")
    headers = {"Authorization": f"Bearer {stack.token}"}
    sent = httpx.post(f"{stack.url}/api/v1/runs/{run}/logs", content=body, headers=headers)
    assert sent.status_code == 202


@pytest.fixture(scope="module")
def filled(stack, lastgood):
    for rank in (0, 5):
        text = "".join(line(rank, number) for number in range(300))
        send(stack, "cli", text + line(rank, 300, "ERROR") + "\x1b]0;owned\x07\n", rank=rank)
    until(lambda: len(lastgood("cli", "--all").stdout.splitlines()) == 604, "the lines")
    return "cli"


def test_the_newest_lines_are_shown_oldest_first(lastgood, filled):
    done = lastgood(filled, "-n", "3", "--rank", "5", "step")
    assert (done.returncode, done.stderr) == (0, "")
    assert [text.split("] ")[-1] for text in done.stdout.splitlines()] == [
        f"step {number} of rank 5" for number in (298, 299, 300)
    ]
    assert done.stdout.splitlines()[-1].split()[2:5] == ["5", "gpu-a01", "ERRO"]
    assert len(lastgood(filled).stdout.splitlines()) == 200


def test_conditions_are_given_as_options_or_as_in_the_query_bar(lastgood, filled):
    for args in (
        ("--level", "error"),
        ("level>=error",),
        ("--since", "1h", "/step 300/"),
        ("step 300 of",),
    ):
        assert len(lastgood(filled, *args).stdout.splitlines()) == 2


def test_what_a_terminal_would_obey_is_shown(stack, lastgood):
    send(stack, "nasty", "before\x07 and \x9b31m after\n")
    until(lambda: lastgood("nasty").stdout != "", "the line")
    assert r"before\x07 and \x9b31m after" in lastgood("nasty").stdout


def test_json_has_every_field(lastgood, filled):
    records = [
        json.loads(text) for text in lastgood(filled, "--json", "-n", "2").stdout.split("\n")[:-1]
    ]
    assert {record["rank"] for record in records} <= {0, 5}
    assert {"time_ns", "node", "level", "source", "seq", "text", "at"} <= set(records[0])


def test_nothing_found_says_when_the_run_was_heard(lastgood, filled):
    done = lastgood(filled, "no-such-word")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no line; the last sign of cli came" in done.stderr


@pytest.mark.parametrize(
    ("args", "given", "words"),
    [
        (("nobody",), {}, "no such run"),
        (("cli", "rank:x"), {}, "neither a rank nor a span"),
        (("cli",), {"token": "lg_wrong"}, "unknown or revoked"),
        (("cli",), {"token": ""}, "no token"),
        (("cli",), {"url": "http://127.0.0.1:1"}, "does not answer"),
        (("cli",), {"url": "lastgood:8000"}, "is no address"),
        (("cli",), {"url": "http://[:8000"}, "is no address"),
    ],
)
def test_trouble_is_said_in_words(lastgood, filled, args, given, words):
    done = lastgood(*args, **given)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_new_lines_are_followed_once_each(stack, file):
    first = "".join(line(0, number) for number in range(3))
    send(stack, "followed", first)
    env = {"LASTGOOD_TOKEN": stack.token, "LASTGOOD_URL": stack.url, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-S", str(file), "logs", "followed", "--follow"]
    until(lambda: httpx.get(f"{stack.url}/api/v1/runs/followed", headers={
        "Authorization": f"Bearer {stack.token}"}).status_code == 200, "the run")  # fmt: skip
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline() for _ in range(3)]
        send(stack, "followed", line(0, 3), offset=len(first))
        seen.append(process.stdout.readline())
        process.terminate()  # a run in the background ignores Ctrl-C
        rest = process.stdout.read()
    assert [text.split("step ")[1][0] for text in seen] == ["0", "1", "2", "3"]
    assert rest == ""
    assert process.returncode == -signal.SIGTERM
