"""docker-compose.yml as this machine can run it: same words, other ports, folders and addresses."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.system.processes import ROOT
from workers.embedded import binaries, rootless

FILE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
OPTIONAL = {"evaluator": "evaluation", "listener": "nodes"}
"""Services that some sites need -> the profile that starts them."""
APPLICATION = ("web", "events", "consumer", "worker", "storage", "beat", *OPTIONAL)
SERVERS = ("postgres", "valkey")


@dataclass
class Native:
    """Runs services without containers. swaps: text in the file -> text for this machine."""

    folder: Path
    environment: dict[str, str]
    swaps: dict[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Native:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all services; the last started first."""
        for process in reversed(self.running.values()):
            process.terminate()
        for process in self.running.values():
            process.wait(60)

    def rewrite(self, words: list[str]) -> list[str]:
        """`words` with every swap applied."""
        return [self._rewrite(word) for word in words]

    def start(self, name: str, *more: str, way: str = rootless.SELF) -> None:
        """Start the service's command; its output goes to a file named after it."""
        argv = [*self.rewrite(SERVICES[name]["command"]), *more]
        argv[0] = self.which(argv[0])
        with (self.folder / f"{name}.out").open("wb") as out:
            self.running[name] = subprocess.Popen(
                [*rootless.launcher(way), *argv],
                cwd=ROOT,
                env=self._env(),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def output(self, name: str) -> str:
        """What the service has written so far."""
        return (self.folder / f"{name}.out").read_text()

    def healthy(self, name: str) -> Callable[[], bool]:
        """Whether its health check passes; the check fails at once if the service has ended."""
        _, *words = self.rewrite(SERVICES[name]["healthcheck"]["test"])
        argv = [self.which(words[0]), *words[1:]]

        def look() -> bool:
            assert self.running[name].poll() is None, self.output(name)
            done = subprocess.run(
                argv, cwd=ROOT, env=self._env(), capture_output=True, check=False, timeout=60
            )
            return done.returncode == 0

        return look

    def which(self, program: str) -> str:
        """Where this machine has a program that the image has on its PATH."""
        here = {"python": Path(sys.executable), "valkey-server": binaries.valkey_server()}
        folders = (Path(sys.executable).parent, binaries.postgres_bin())
        found = here.get(program) or next(f / program for f in folders if (f / program).exists())
        return str(found)

    def _rewrite(self, word: str) -> str:
        for old, new in self.swaps.items():
            word = word.replace(old, new)
        return word

    def _env(self) -> dict[str, str]:
        return {**os.environ, **self.environment}
