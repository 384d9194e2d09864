"""The side environment of the frameworks, and a rollback by the pages as a person does it."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.stack import QUICK, ROOT, until
from workers.cli.bundle import bundle

PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
REQUIRED = "LASTGOOD_REQUIRE_FRAMEWORKS"
START_S = 300
"""How long a start may take, with the loading of the frameworks before the first one."""


def pytest_collection_modifyitems(items):
    """Without torch these tests are skipped, with the reason; under REQUIRED they fail."""
    if PYTHON.exists() or os.environ.get(REQUIRED):
        return
    skip = pytest.mark.skip(reason="no .venv-frameworks: run `make frameworks` (torch, CPU build)")
    for item in items:
        if "frameworks" in item.keywords:
            item.add_marker(skip)


class Form(HTMLParser):
    """The fields of the forms of a page as a browser would send them, buttons left out."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        choice = given.get("type") in ("radio", "checkbox")
        if tag == "input" and given.get("name") and (not choice or "checked" in given):
            self.fields[str(given["name"])] = given.get("value") or ""


class Forks:
    """The process that starts the toys (forks.py)."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._process = subprocess.Popen(
            [str(PYTHON), str(Path(__file__).with_name("forks.py"))],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip

    def run(self, script: str, arguments: list[str], env: dict[str, str]) -> tuple[int, str]:
        """Exit status of a start, and what it printed."""
        asked = {"script": script, "arguments": arguments, "env": env, "out": str(self._out)}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        assert select.select([self._process.stdout], [], [], START_S)[0], "the start hangs"
        status = int(self._process.stdout.readline())
        return status, self._out.read_text(errors="replace")

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()


@dataclass
class Cluster:
    """A run of one node: starts its training, sends what it leaves behind, obeys its orders."""

    stack: Any
    run: str
    folder: Path
    client: Path
    forks: Forks
    script: str
    says: list[str] = field(default_factory=list)

    def train(self, *arguments: str, until_step: int, **env: str) -> int:
        """Runs the toy until it is killed; the step it began after."""
        status, said = self.forks.run(
            self.script,
            list(arguments),
            {**os.environ, "OMP_NUM_THREADS": "1", "TOY_DIES_AFTER": str(until_step), **env},
        )
        assert status == 9, said
        found = re.search(r"begins after step (\d+)", said)
        assert found, said
        return int(found[1])

    def send(self, *sources: str) -> None:
        """What the training left behind, by the node agent."""
        token = self.folder / "token"
        token.write_text(self.stack.token)
        words = ["--run", self.run, "--node", "gpu-a01", "--url", self.stack.url, "--once",
                 "--token-file", str(token), "--state", str(self.folder / "agent")]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "workers.tailer", *words, *sources],
            cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        until(lambda: self.stack.drained(self.run), "the rows")

    def resume_point(self, *options: str) -> dict[str, str]:
        """What `lastgood resume-point` exports to the start."""
        env = {
            "LASTGOOD_TOKEN": self.stack.token,
            "LASTGOOD_URL": self.stack.url,
            "LASTGOOD_ORDER_KEY": (self.stack.home / "secrets/order_signing_key").read_text(),
        }
        words = [sys.executable, "-I", "-S", str(self.client), "resume-point", self.run]
        done = subprocess.run(
            [*words, "--prepare", *options], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        self.says.append(done.stderr)
        lines = (line.removeprefix("export ") for line in done.stdout.splitlines())
        return {k: "".join(shlex.split(v)) for k, _, v in (line.partition("=") for line in lines)}

    def press_the_button(self) -> dict[str, Any]:
        """Opens the drawer, looks at the suggested checkpoint, types its step; the order."""
        with httpx.Client(base_url=self.stack.url, follow_redirects=True, timeout=30) as browser:
            link = self.stack.manage("login_link", QUICK).strip().splitlines()[-1]
            browser.get(httpx.URL(link).path)
            page = browser.get(f"/runs/{self.run}/rollback/")
            form = Form(page.text).fields
            _, step = form["choice"].split(":")
            typed = {**form, "reason": "the loss exploded", "confirm": step, "act": "order"}
            headers = {"Referer": str(page.url)}
            answer = browser.post(page.url.path, data=typed, headers=headers)
            assert f"/runs/{self.run}/orders/" in str(answer.url), answer.text
        return self.stack.get(f"runs/{self.run}/orders")["items"][-1]

    def incident(self) -> dict[str, Any]:
        """The page that is open."""
        found = self.stack.get(f"incidents?run={self.run}")["items"]
        return next(one for one in found if one["page"])


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The client as one file."""
    made = tmp_path_factory.mktemp("client") / "lastgood"
    bundle(made)
    return made


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    """What starts the toys."""
    running = Forks(tmp_path_factory.mktemp("forks") / "said")
    yield running
    running.close()
