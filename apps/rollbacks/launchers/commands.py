"""Programs of a cluster: argument lists, never a shell; bounded in time; few variables."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.rollbacks.launchers.protocol import Made, Note

LIMIT_S = 60
"""`sbatch` itself tries again for about a minute when its controller is busy."""
_ANSWER_CHARS = 2_000
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "TZ")
"""Of this process's environment. The rest holds secrets, and `sbatch` copies it into the job."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. code 124: it took too long, 127: it is not on this machine."""

    code: int
    out: str
    error: str

    @property
    def text(self) -> str:
        """What it complained of, in one line."""
        return " ".join((self.error or self.out).split())[:500] or f"exit code {self.code}"


def run(argv: Sequence[str], note: Note, env: Mapping[str, str] | None = None) -> Ran:
    """Runs a program to its end. env: added to the few variables it gets.

    `timeout` outlives this process: LIMIT_S after a killed worker nothing of it runs any more, so
    that a look-up then sees all that it has done.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    bounded = ["timeout", "--signal=KILL", str(LIMIT_S), *argv]
    began = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603  a list, and its first words are ours
            bounded,
            env={**kept, "LC_ALL": "C", **(env or {})},
            cwd=Path("/"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        ran = Ran(done.returncode, _text(done.stdout), _text(done.stderr))
    except OSError as error:
        ran = Ran(127, "", f"{error.strerror}: {argv[0]}")
    took_ms = int((time.monotonic() - began) * 1000)
    answer = f"[{ran.code}] {ran.out}{ran.error}".strip()
    note(Made(" ".join(argv)[:_ANSWER_CHARS], answer[:_ANSWER_CHARS], took_ms))
    return ran


def _text(found: bytes) -> str:
    return found.decode("utf-8", "replace")
