"""`manage.py demo_cluster` is the child of `manage.py demo` that plays the training clusters."""

from __future__ import annotations

import json
import logging
import shutil
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from apps.accounts.records import SYSTEM
from apps.accounts.services import make_token
from apps.core.clock import now_ns
from apps.rollbacks import policies
from apps.runs import store as runs
from workers.demo import recordings
from workers.demo.folder import read_folder
from workers.demo.launcher import Launcher, Stage
from workers.tailer import durable

RUNS = ("lrbump", "sdc_rollback")
PROJECT = "pysource-gpt"
"""That of the recorded runs."""
MARGIN_STEPS = 100


class Command(BaseCommand):
    help = "Plays the recorded trainings of `manage.py demo`. Not meant to be called by hand."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--session", required=True, help="name of this demo, kept by restarts")
        parser.add_argument("--speed", type=float, required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        for noisy in ("httpx", "httpcore"):
            logging.getLogger(noisy).setLevel(logging.WARNING)
        stop = threading.Event()

        def on_signal(number: int, frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, on_signal)
        folder = settings.HOME / "demo" / options["session"]
        launchers = [
            Launcher(read_folder(recordings.unpack(name, folder / "recorded")), stage)
            for name, stage in self._stages(folder, options["speed"]).items()
        ]
        for launcher in launchers:
            launcher.start()
        self._say(f"demo is playing {', '.join(_session(folder)['runs'].values())}")
        while not stop.wait(0.5):
            for launcher in launchers:
                launcher.tick()
        for launcher in launchers:
            launcher.stop()

    def _stages(self, folder: Path, speed: float) -> dict[str, Stage]:
        token_file = folder / "token"
        keys = _session(folder)["runs"]
        token = token_file.read_text(encoding="utf-8")
        return {
            name: Stage(
                run=key,
                url=settings.WEB_URL,
                token=token,
                token_file=token_file,
                live=folder / key,
                speed=speed,
                say=self._say,
            )
            for name, key in keys.items()
        }

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _session(folder: Path) -> dict[str, Any]:
    """The keys of this demo's runs; chosen once, with a token for its cluster.

    A key is `lrbump`, or `lrbump-2`, `-3`, ... when an earlier demo or load has used it. The files
    of earlier demos are removed, what they sent stays.
    """
    file = folder / "session.json"
    if not file.exists():
        for old in folder.parent.glob("*"):
            if old != folder and old.is_dir():
                shutil.rmtree(old)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = make_token("demo cluster", ["read", "ingest", "operate"])
        (folder / "token").touch(mode=0o600)
        (folder / "token").write_text(secret, encoding="utf-8")
        names = {name: _free_key(name) for name in RUNS}
        _ask_for_the_recorded_margin()
        durable.write(file, json.dumps({"runs": names}).encode())
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found


def _ask_for_the_recorded_margin() -> None:
    """The recorded second starts went on 100 steps before the onset, which is less than their save
    interval. Rules that somebody has changed stay."""
    if not policies.of_project(PROJECT).version:
        asked = policies.Asked(MARGIN_STEPS, second_approver=False, version=0)
        reason = "the recorded trainings went on 100 steps before the onset"
        policies.save(PROJECT, asked, actor=SYSTEM, reason=reason, now_ns=now_ns())


def _free_key(name: str) -> str:
    number = 1
    while runs.get_run(name if number == 1 else f"{name}-{number}") is not None:
        number += 1
    return name if number == 1 else f"{name}-{number}"
