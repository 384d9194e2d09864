"""`manage.py demo [--speed S]`: all of Lastgood, with two recorded trainings played live."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workers.supervisor import ChildSpec, run

FASTEST = 1000.0
EXPLOSION_S = 93
CORRUPTION_S = 52


class Command(BaseCommand):
    help = "Runs Lastgood in the foreground and plays two recorded trainings into it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--speed", help="multiple of the recorded speed; default SPEED, else 1")

    def handle(self, *args: Any, **options: Any) -> None:
        speed = _speed(options["speed"] or os.environ.get("SPEED") or "1")
        words = ("--session", f"{time.time_ns():x}", "--speed", str(speed))
        cluster = ChildSpec(
            "demo",
            (sys.executable, "manage.py", "demo_cluster", *words),
            ready_line="demo is playing",
            grace_s=20.0,
        )
        sys.exit(run(extra=[cluster], notes=_notes(speed)))


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= FASTEST:
        raise CommandError(
            f'SPEED: "{text}" is not a replay speed; use a number above 0 and up to {FASTEST:.0f}'
        )
    return speed


def _notes(speed: float) -> list[str]:
    return [
        "",
        f"Two real trainings are being played, at {speed:g} x the recorded speed. What to look at:",
        f"  sdc_rollback  in about {CORRUPTION_S / speed:.0f} s one rank of eight is silently "
        "corrupted at step 700; roll back to step 600",
        f"  lrbump        in about {EXPLOSION_S / speed:.0f} s the loss explodes at step 1000; "
        "roll back to step 900",
        "Open the run, then its incident, and press Roll back: the demo's launcher obeys and plays",
        "the recorded second start, and the incident ends as recovered.",
        f"Mails go to {settings.HOME / 'mail'} unless EMAIL_URL is set. The launcher's own words "
        f"are in {settings.HOME / 'log' / 'demo.log'}.",
        "Ctrl-C stops everything.",
    ]
