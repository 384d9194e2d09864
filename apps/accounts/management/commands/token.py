"""`manage.py token NAME --scope read,ingest` prints a new API token and nothing else.

`--limit --bytes-s 1000000 --requests-s 50` bounds what the tokens of that name may send.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.records import SYSTEM
from apps.accounts.services import MOST_DAYS, limit_tokens, make_token, revoke_tokens
from apps.core.arguments import whole_number
from apps.core.errors import AppError

MOST_REQUESTS_S = 2**31 - 1
"""The largest number of the column."""


class Command(BaseCommand):
    help = "Makes an API token and prints it once; ends or limits the tokens of a name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="who will use it, for example gpu-a01")
        parser.add_argument("--scope", default="read", help="comma-separated: read,ingest,operate")
        parser.add_argument("--revoke", action="store_true", help="end all tokens of this name")
        parser.add_argument("--limit", action="store_true", help="bound tokens of this name")
        parser.add_argument(
            "--bytes-s", type=whole_number(1), help="with --limit; none: as the settings say"
        )
        parser.add_argument(
            "--requests-s", type=whole_number(1, MOST_REQUESTS_S), help="the same for requests"
        )
        days = whole_number(1, MOST_DAYS)
        parser.add_argument("--days", type=days, help="when it ends; none: when it is revoked")
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
        found = limit_tokens(name, bytes_s, requests_s, actor=SYSTEM)
        if not found:
            raise CommandError(f'no working token is called "{name}"')
        self.stdout.write(f"{found} token{'s' if found > 1 else ''} limited")
