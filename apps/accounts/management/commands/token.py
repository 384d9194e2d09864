"""`manage.py token NAME --scope read,ingest` prints a new API token and nothing else.

`--limit --bytes-s 1000000 --requests-s 50` bounds what the tokens of that name may send.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.records import SYSTEM
from apps.accounts.services import limit_tokens, make_token, revoke_tokens
from apps.core.errors import AppError


class Command(BaseCommand):
    help = "Makes an API token and prints it once; ends or limits the tokens of a name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="who will use it, for example gpu-a01")
        parser.add_argument("--scope", default="read", help="comma-separated: read,ingest,operate")
        parser.add_argument("--revoke", action="store_true", help="end all tokens of this name")
        parser.add_argument("--limit", action="store_true", help="bound tokens of this name")
        parser.add_argument("--bytes-s", type=int, help="with --limit; none: as the settings say")
        parser.add_argument("--requests-s", type=int, help="the same for requests")
        parser.add_argument("--days", type=int, help="when it ends; none: when it is revoked")
        parser.add_argument("--wandb", action="store_true", help="a key that `wandb` accepts")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["revoke"]:
            self._revoke(options["name"])
            return
        if options["limit"]:
            self._limit(options["name"], options["bytes_s"], options["requests_s"])
            return
        scopes = [scope.strip() for scope in options["scope"].split(",") if scope.strip()]
        days = options["days"]
        if days is not None and days < 1:
            raise CommandError("--days is at least 1; leave it out for a token without an end")
        lasts = None if days is None else timedelta(days=days)
        try:
            secret = make_token(options["name"], scopes, wandb=options["wandb"], lasts=lasts)
        except AppError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(secret)

    def _revoke(self, name: str) -> None:
        ended = revoke_tokens(name, actor=SYSTEM)
        if not ended:
            raise CommandError(f'no working token is called "{name}"')
        self.stdout.write(f"{ended} token{'s' if ended > 1 else ''} revoked")

    def _limit(self, name: str, bytes_s: int | None, requests_s: int | None) -> None:
        if any(limit is not None and limit < 1 for limit in (bytes_s, requests_s)):
            raise CommandError("a limit is at least 1; leave it out to lift it")
        found = limit_tokens(name, bytes_s, requests_s, actor=SYSTEM)
        if not found:
            raise CommandError(f'no working token is called "{name}"')
        self.stdout.write(f"{found} token{'s' if found > 1 else ''} limited")
