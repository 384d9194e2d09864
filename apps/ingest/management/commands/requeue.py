"""`manage.py requeue ID...` writes quarantined bodies after all, for after a fix."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.records import SYSTEM
from apps.core.arguments import whole_number
from apps.core.errors import AppError
from apps.ingest import services


class Command(BaseCommand):
    help = "Writes quarantined bodies after all. What still cannot be written stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "ids", nargs="+", type=whole_number(), metavar="ID", help="see Ingest health"
        )
        parser.add_argument("--reason", default="", help="kept in the audit trail")

    def handle(self, *args: Any, **options: Any) -> None:
        failed = 0
        for number in options["ids"]:
            try:
                done = services.requeue(number, actor=SYSTEM, reason=options["reason"])
            except AppError as error:
                failed += 1
                self.stderr.write(f"{number}: {error}")
            else:
                self.stdout.write(
                    f"{number}: {'written' if done.written else 'was written before'}"
                )
        if failed:
            raise CommandError(f"{failed} of {len(options['ids'])} stay in quarantine")
