"""`manage.py token NAME --scope read,ingest` prints a new API token and nothing else."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.records import SYSTEM
from apps.accounts.services import make_token, revoke_tokens
from apps.core.errors import AppError


class Command(BaseCommand):
    help = "Makes an API token and prints it once, or ends the tokens of a name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="who will use it, for example gpu-a01")
        parser.add_argument("--scope", default="read", help="comma-separated: read,ingest,operate")
        parser.add_argument("--revoke", action="store_true", help="end all tokens of this name")
        parser.add_argument("--wandb", action="store_true", help="a key that `wandb` accepts")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["revoke"]:
            self._revoke(options["name"])
            return
        scopes = [scope.strip() for scope in options["scope"].split(",") if scope.strip()]
        try:
            self.stdout.write(make_token(options["name"], scopes, wandb=options["wandb"]))
        except AppError as error:
            raise CommandError(str(error)) from error

    def _revoke(self, name: str) -> None:
        ended = revoke_tokens(name, actor=SYSTEM)
        if not ended:
            raise CommandError(f'no working token is called "{name}"')
        self.stdout.write(f"{ended} token{'s' if ended > 1 else ''} revoked")
