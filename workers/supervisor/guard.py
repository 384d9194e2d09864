"""Kills what a dead supervisor left; a stand-alone script that outlives it.

    python -I -S guard.py LOCK_FILE SERVERS_FILE      (stdin: the supervisor's end of a pipe)

Lines on stdin: "+ PID GRACE_S" a child and session leader, "- PID" it is gone, "bye" all is well.
The parent-death signal reaches only direct children; a granian or Celery parent that gets it may
hang, or be killed and leave its pool. When the pipe closes without "bye", each child has GRACE_S
to leave, then its whole session is killed. Holds LOCK_FILE while it lives, so that the next
supervisor on this home waits; removes SERVERS_FILE after such an end.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from pathlib import Path

_POLL_S = 0.05
_PROC = Path("/proc")
_STATE, _GROUP, _SESSION = 0, 2, 3


def main(lock_file: str, servers_file: str) -> None:
    """Follow the pipe to its end, then clean up if that was not a goodbye."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with Path(lock_file).open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        children: dict[int, float] = {}
        for line in sys.stdin:
            word, *values = line.split()
            if word == "bye":
                return
            if word == "+":
                children[int(values[0])] = float(values[1])
            else:
                children.pop(int(values[0]), None)
        sweep(children)
        Path(servers_file).unlink(missing_ok=True)


def sweep(children: dict[int, float]) -> None:
    """Return when no process of the sessions is left. children: session leader -> grace in s."""
    start = time.monotonic()
    while children:
        for leader, grace_s in list(children.items()):
            pids = members(leader)
            if not pids:
                del children[leader]
            elif not {leader, -leader} & set(pids) or time.monotonic() - start > grace_s:
                kill(pids)
        time.sleep(_POLL_S)


def kill(pids: list[int]) -> None:
    """SIGKILL each of `pids` that still is."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def members(leader: int) -> list[int]:
    """Living processes in the session or process group of `leader`; zombies do not count.

    Without /proc: the negative group number, which kill() takes as well.
    """
    if not _PROC.is_dir():
        return [-leader] if _group_lives(leader) else []
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        fields = words.rpartition(")")[2].split()
        if fields[_STATE] not in "ZX" and str(leader) in (fields[_GROUP], fields[_SESSION]):
            found.append(int(entry.name))
    return found


def _group_lives(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
