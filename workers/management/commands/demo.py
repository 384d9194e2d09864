"""`manage.py demo [--speed S]`: all of Lastgood, with two recorded trainings played live."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.core.errors import AppError
from workers.demo.show import show, speed_of


class Command(BaseCommand):
    help = "Runs Lastgood in the foreground and plays two recorded trainings into it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--speed", help="multiple of the recorded speed; default SPEED, else 1")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            speed = speed_of(options["speed"] or os.environ.get("SPEED") or "1")
        except AppError as error:
            raise CommandError(str(error)) from error
        sys.exit(show(speed))
