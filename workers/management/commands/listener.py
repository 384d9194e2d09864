"""`manage.py listener`: asks what the file NODE_SOURCES names about machines. Exactly one."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.core.errors import AppError
from workers.listener.loop import Listener


class Command(BaseCommand):
    help = "Asks exporters, gpuds and Kubernetes about nodes, as NODE_SOURCES says."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.NODE_SOURCES:
            raise CommandError("NODE_SOURCES names no file: there is nothing to listen to")
        stopping = threading.Event()

        def stop(number: int, frame: FrameType | None) -> None:
            stopping.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        self.stdout.write(f"listener is listening as {settings.NODE_SOURCES} says")
        try:
            Listener(Path(settings.NODE_SOURCES), stopping).run()
        except AppError as error:
            raise CommandError(str(error)) from error
