"""Plays a script: files in a live folder grow as they grew when they were recorded."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from workers.demo.script import Script

LONGEST_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Timing:
    """How recorded time maps to the clock. begun_ns: Unix ns at which script.from_ns is played."""

    begun_ns: int
    speed: float

    def due_ns(self, at_ns: int, script: Script) -> int:
        """When an action of recorded time `at_ns` is due, Unix ns."""
        return self.begun_ns + round((at_ns - script.from_ns) / self.speed)


def time_shift_ns(script: Script, timing: Timing, *, catch_up: bool) -> int:
    """What to add to recorded times so that they are of today.

    At speed 1 every time is then the moment it was played. At other speeds a constant cannot do
    that: with `catch_up` the end of the replay is right and nothing lies in the future, else its
    beginning is right.
    """
    shift = timing.begun_ns - script.from_ns
    length_ns = script.end_ns - script.from_ns
    ahead_ns = length_ns - round(length_ns / timing.speed)
    return shift - max(0, ahead_ns) if catch_up else shift


def play(script: Script, into: Path, timing: Timing, stop: threading.Event) -> bool:
    """Append every action when it is due; False if `stop` came first.

    A replay that was interrupted goes on where the files end: what is there is not written again.
    """
    there = {path: _size(into / path) for path in {action.path for action in script.actions}}
    for action in script.actions:
        skipped = min(there[action.path], len(action.data))
        there[action.path] -= skipped
        if skipped and skipped == len(action.data):
            continue
        if not _wait_until(timing.due_ns(action.at_ns, script), stop):
            return False
        _append(into, action.path, action.data[skipped:])
    return True


def _wait_until(due_ns: int, stop: threading.Event) -> bool:
    while not stop.is_set():
        left_s = (due_ns - time.time_ns()) / 1e9
        if left_s <= 0:
            return True
        stop.wait(min(left_s, LONGEST_WAIT_S))
    return False


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _append(into: Path, path: PurePosixPath, data: bytes) -> None:
    target = into / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        file.write(data)
