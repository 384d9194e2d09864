"""`manage.py consumer`: writes what waits in the ingest stream. Run as many as you like."""

from __future__ import annotations

import signal
import socket
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workers.writer import memory
from workers.writer.loop import Writer
from workers.writer.watchman import Watchman


class Command(BaseCommand):
    help = "Consumes the ingest stream: decode, write, acknowledge, analyse."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--name", default=f"{socket.gethostname()}-0", help="unique, stable name"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        memory.keep_freed()
        writer = Writer(options["name"])

        def stop(number: int, frame: FrameType | None) -> None:
            writer.stopping.set()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        Watchman(writer.stopping).start()
        self.stdout.write(f"consumer {writer.name} is reading")
        writer.run()
