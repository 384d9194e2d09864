"""A thread of the consumer that notices when the alert worker does not do its work."""

from __future__ import annotations

import logging
import threading

from django.db import connection

from apps.alerts import deadman
from apps.core.clock import now_ns
from apps.core.database import SERVER_TROUBLE

log = logging.getLogger(__name__)
LOOK_EVERY_S = 20.0


class Watchman(threading.Thread):
    """Looks every LOOK_EVERY_S until `stopping` is set. A mail server that hangs holds up only
    this thread, and a thread that fails only itself."""

    def __init__(self, stopping: threading.Event, every_s: float = LOOK_EVERY_S) -> None:
        super().__init__(name="watchman", daemon=True)
        self.stopping = stopping
        self.every_s = every_s

    def run(self) -> None:
        """Waits first: a worker that starts together with the consumer needs a moment."""
        while not self.stopping.wait(self.every_s):
            self.look()

    def look(self) -> None:
        """One look. The connection is given back: there may be many consumers."""
        try:
            deadman.watch(now_ns())
        except SERVER_TROUBLE as error:
            log.warning("watchman.waits_for_server", extra={"reason": str(error)[:200]})
        except Exception:
            log.exception("watchman.failed")
        finally:
            connection.close()
