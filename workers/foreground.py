"""What the programs that run beside Lastgood's own processes have in common. Plain Python."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from apps.core.errors import AppError


def run(work: Callable[[threading.Event], int]) -> int:
    """The exit code of `work`, which ends soon after its event is set by SIGTERM or SIGINT.

    An AppError is told on stderr and is 1. Logs go to stderr, those of httpx from warnings on.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    try:
        return work(stop)
    except AppError as error:
        sys.stderr.write(f"{error}\n")
        return 1
