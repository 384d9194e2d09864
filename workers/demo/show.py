"""All of Lastgood in the foreground, with two recorded trainings played into it; no Django."""

from __future__ import annotations

import os
import sys
import time

from apps.core.errors import AppError
from workers.supervisor import ChildSpec, run

FASTEST = 1000.0
EXPLOSION_S = 93
CORRUPTION_S = 52


def show(speed: float) -> int:
    """Run until Ctrl-C; the exit status. speed: multiple of the recorded one."""
    words = ("--session", f"{time.time_ns():x}", "--speed", str(speed))
    cluster = ChildSpec(
        "demo",
        (sys.executable, "manage.py", "demo_cluster", *words),
        ready_line="demo is playing",
        grace_s=20.0,
    )
    return run(extra=[cluster], notes=notes(speed, os.environ.get("LASTGOOD_HOME") or "var"))


def speed_of(text: str) -> float:
    """The replay speed that a person wrote; AppError says what is allowed."""
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= FASTEST:
        raise AppError(
            f'"{text}" is not a replay speed',
            where="SPEED",
            hint=f"use a number above 0 and up to {FASTEST:.0f}",
        )
    return speed


def notes(speed: float, home: str) -> list[str]:
    """What to look at, for the lines below the ready line."""
    corruption_s, explosion_s = CORRUPTION_S / speed, EXPLOSION_S / speed
    return [
        "",
        f"Two real trainings are played at {speed:g} x the recorded speed. What to look at:",
        f"  sdc_rollback  about {corruption_s:.0f} s from now one rank of eight is silently "
        "corrupted at step 700; roll back to step 600",
        f"  lrbump        about {explosion_s:.0f} s from now the loss explodes at step 1000; "
        "roll back to step 900",
        "Open the run, then its incident, and press Roll back: the demo's launcher obeys, plays",
        "the recorded second start, and the incident ends as recovered.",
        f"Mails are files in {home}/mail unless EMAIL_URL is set; what the launcher does is in "
        f"{home}/log/demo.log.",
        "Ctrl-C stops everything.",
    ]
