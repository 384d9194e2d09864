"""Bytes a second, held on average."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pace:
    """Sleeps so that no more than `bytes_s` bytes a second are spent; 0: any number.

    At most one second's worth is saved up: after a pause nothing comes in a burst. Thread safe:
    all threads together keep to it.
    """

    def __init__(
        self,
        bytes_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._bytes_s = bytes_s
        self._clock = clock
        self._sleep = sleep
        self._left = bytes_s
        self._at = clock()
        self._turn = threading.Lock()

    def spend(self, count: int) -> None:
        """Returns when `count` bytes may have been read."""
        if self._bytes_s <= 0:
            return
        with self._turn:
            now = self._clock()
            self._left = min(self._bytes_s, self._left + (now - self._at) * self._bytes_s) - count
            self._at = now
            debt_s = -self._left / self._bytes_s
        if debt_s > 0:
            self._sleep(debt_s)
