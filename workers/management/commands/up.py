"""`manage.py up`: all of Lastgood in the foreground, without demo data."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand

from workers.supervisor import run


class Command(BaseCommand):
    help = "Runs database, queue, web and workers in the foreground until Ctrl-C."
    requires_system_checks: tuple[str, ...] = ()

    def handle(self, *args: Any, **options: Any) -> None:
        sys.exit(run())
