"""`manage.py token NAME --scope read,ingest` prints a new API token and nothing else."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.services import make_token
from apps.core.errors import AppError


class Command(BaseCommand):
    help = "Makes an API token and prints it once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="who will use it, for example gpu-a01")
        parser.add_argument("--scope", default="read", help="comma-separated: read,ingest,operate")

    def handle(self, *args: Any, **options: Any) -> None:
        scopes = [scope.strip() for scope in options["scope"].split(",") if scope.strip()]
        try:
            self.stdout.write(make_token(options["name"], scopes))
        except AppError as error:
            raise CommandError(str(error)) from error
