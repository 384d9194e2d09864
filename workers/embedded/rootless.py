"""How a server that refuses uid 0 is run by root."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

from apps.core.errors import AppError
from workers.embedded.launch import NOBODY

logger = logging.getLogger(__name__)

LAUNCH = Path(__file__).with_name("launch.py")
SELF, USER_NAMESPACE, AS_NOBODY = "self", "userns", "nobody"
_WORDS = {
    USER_NAMESPACE: "in a user namespace (root outside, nobody inside)",
    AS_NOBODY: "as user nobody (user namespaces are not allowed here)",
}


def launcher(way: str = SELF, *, death_signal: int = signal.SIGKILL) -> list[str]:
    """The words before a program's argv: it dies with this process and runs in `way`.

    The signal comes when the THREAD that forks ends, so fork from the main thread.
    """
    head = [sys.executable, "-I", "-S", str(LAUNCH)]
    return [*head, str(os.getpid()), str(int(death_signal)), way]


def choose(program: Path, folder: Path) -> str:
    """The first way in which `program` can be run and `folder` be written, and log it.

    An ordinary user: "self". Root: "userns", else "nobody". Raises AppError if none works.
    """
    if os.geteuid() != 0:
        return SELF
    for way in (USER_NAMESPACE, AS_NOBODY):
        if _works(way, program, folder):
            logger.info("%s runs %s", program.name, _WORDS[way])
            return way
    raise AppError(
        f"{program.name} refuses to run as root, and neither a user namespace nor nobody works",
        where=str(folder),
        hint="run Lastgood as an ordinary user, or set DATABASE_URL to a server that runs already",
    )


def own(folder: Path, way: str) -> None:
    """Make `folder` and all in it belong to the user that `way` runs under.

    Raises AppError if it belongs to somebody else and this process may not change that.
    """
    wanted = NOBODY if way == AS_NOBODY else os.geteuid()
    owner = folder.stat().st_uid
    if owner == wanted:
        return
    if os.geteuid() != 0:
        raise AppError(
            f"the folder belongs to uid {owner}, this process is uid {wanted}",
            where=str(folder),
            hint="start as that user, or choose another LASTGOOD_HOME",
        )
    for place, _, files in os.walk(folder, topdown=False):
        for name in files:
            os.chown(Path(place) / name, wanted, -1, follow_symlinks=False)
        os.chown(place, wanted, -1)


def _works(way: str, program: Path, folder: Path) -> bool:
    test = ["/bin/sh", "-c", 'test -x "$1" && test -w "$2"', "sh", str(program), str(folder)]
    done = subprocess.run([*launcher(way), *test], capture_output=True, check=False)  # noqa: S603
    return done.returncode == 0
