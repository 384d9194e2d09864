"""`manage.py load DIR --run KEY [--wait]` sends a recorded run through the normal doors."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.records import SYSTEM
from apps.accounts.services import make_token, revoke_token, verify_token
from apps.core.errors import AppError
from workers.demo.folder import RecordedRun, read_folder
from workers.demo.loading import Reader, Target, load


class Command(BaseCommand):
    help = (
        "Reads a recorded run folder (.wandb files, torchrun folders, consoles, "
        "checkpoint_events.jsonl) and sends it to the running server at full speed."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="folder of one run")
        parser.add_argument("--run", required=True, help="key of the run in Lastgood")
        parser.add_argument("--wait", action="store_true", help="return when it is analysed")
        parser.add_argument("--timeout", type=float, default=300.0, help="of --wait, in seconds")
        parser.add_argument("--url", default="", help="address of Lastgood, if not the local one")
        parser.add_argument("--token-file", type=Path, help="token with scopes ingest and read")

    def handle(self, *args: Any, **options: Any) -> None:
        for noisy in ("httpx", "httpcore", "workers.tailer"):
            logging.getLogger(noisy).setLevel(logging.WARNING)
        try:
            run = read_folder(options["folder"])
            with _token(options) as token:
                found = _send(run, token, options)
        except AppError as error:
            raise CommandError(str(error)) from error
        for name in run.unread:
            self.stderr.write(f"{name}: belongs to no start and was not sent")
        self.stdout.write(json.dumps(found))


def _send(run: RecordedRun, token: str, options: dict[str, Any]) -> dict[str, Any]:
    target = Target(options["url"] or settings.WEB_URL, token, options["run"])
    with tempfile.TemporaryDirectory(prefix="lastgood-load-") as work:
        sent = load(run, target, Path(work))
    found: dict[str, Any] = {"run": target.run, "starts": len(run.starts), "sent": sent}
    if options["wait"]:
        with closing(Reader(target)) as reader:
            reader.wait(options["timeout"])
            found |= reader.summary()
    return found


@contextmanager
def _token(options: dict[str, Any]) -> Iterator[str]:
    """The given token, else one that ends with the command; that needs the server's database."""
    if options["token_file"]:
        yield options["token_file"].read_text(encoding="utf-8").strip()
        return
    secret = make_token(f"load {options['run']}"[:100], ["ingest", "read"])
    try:
        yield secret
    finally:
        actor = verify_token(secret)
        if actor is not None and actor.token_id is not None:
            revoke_token(actor.token_id, actor=SYSTEM)
