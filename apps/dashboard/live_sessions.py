"""Who listens: sessions looked up for the event process, a few at once."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections

from apps.accounts.sessions import person_of
from apps.core.database import SERVER_TROUBLE

CHECKS_AT_ONCE = 4
"""Sessions a process looks up at once: each costs a connection to Postgres, an open page none."""
MOST_WAITING = 1_000
CHECK_S = 10.0
"""How many pages may wait for that, and for how long; then they are told to come back."""


class Busy(Exception):
    """No answer about a session in time."""


class Sessions:
    """Who asks, found out by a few threads that keep their connections to Postgres.

    All tabs come back at once after a restart of this process: they wait for each other here and
    not for a connection that Postgres does not have.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(CHECKS_AT_ONCE, thread_name_prefix="session")
        self._waiting = 0

    async def person(self, key: str) -> int | None:
        """The id of the person whose session this is, as Postgres says now; None if it is nobody's
        or has ended. Raises Busy if that cannot be said in time."""
        if self._waiting >= MOST_WAITING:
            raise Busy
        self._waiting += 1
        answer = asyncio.get_running_loop().run_in_executor(self._threads, _person, key)
        try:
            return await asyncio.wait_for(answer, CHECK_S)
        except (TimeoutError, *SERVER_TROUBLE) as error:
            raise Busy from error
        finally:
            self._waiting -= 1


def _person(key: str) -> int | None:
    close_old_connections()
    try:
        return person_of(key, int(time.time()))
    finally:
        close_old_connections()
