"""`manage.py bench NAME [--data DIR]` measures; the last line it prints is one JSON object."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workers.benches.logsend import DOORS
from workers.benches.report import BenchOptions, BenchReport

NAMES = (
    "alerts",
    "burst",
    "checkpoints",
    "classify",
    "detect",
    "growth",
    "ingest",
    "live",
    "logs",
    "spikes",
    "triage",
    "ui",
    "wandb",
)


class Command(BaseCommand):
    help = "Measures one thing on this machine; read the ratios, machines are noisy."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=NAMES)
        parser.add_argument("--data", type=Path, help="measure on this folder")
        parser.add_argument("--steps", type=int, help="steps of the built-in data")
        parser.add_argument("--keys", type=int, help="metrics a step of the built-in data")
        parser.add_argument("--layers", type=int, help="layers of the model (ui)")
        parser.add_argument("--ranks", type=int, help="ranks of the job (ui)")
        parser.add_argument(
            "--peer",
            type=Path,
            action="append",
            default=[],
            help="a Python that can import openwandb or trackio, to compare with (wandb)",
        )
        parser.add_argument("--scale", type=float, default=1.0, help="length of the job (logs)")
        parser.add_argument("--door", choices=DOORS, help="one way in only (logs)")
        parser.add_argument(
            "--recorded",
            action="store_true",
            help="the recorded runs whose end is known, of --data if given (triage)",
        )
        parser.add_argument(
            "--json",
            type=Path,
            help="write the figures to this file as well; of checkpoints, spikes, triage the cases",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["data"] and not options["data"].is_dir():
            raise CommandError(f"--data: {options['data']} is not a folder")
        run: Callable[[BenchOptions], BenchReport]
        run = import_module(f"workers.benches.{options['name']}").run
        report = run(
            BenchOptions(
                data=options["data"],
                steps=options["steps"],
                keys=options["keys"],
                layers=options["layers"],
                ranks=options["ranks"],
                peers=tuple(options["peer"]),
                scale=options["scale"],
                door=options["door"],
                recorded=options["recorded"],
            )
        )
        figures = orjson.dumps({"bench": options["name"], **report.figures}).decode()
        self.stdout.write(report.table())
        self.stdout.write(figures)
        if options["json"]:
            written = figures if report.details is None else orjson.dumps(report.details).decode()
            options["json"].write_text(written + "\n", encoding="utf-8")
