"""Places of a web process for answers that take long: streams that search, downloads.

Each keeps a thread until its end. Only so many run at once, so that the others stay free for pages
and for data (apps/core/bodies.py: the sum of all places stays below `--blocking-threads`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from typing import Final

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from apps.core.http import json_error

NDJSON = "application/x-ndjson"
RETRY_S = 2


class Places:
    """At most so many holders at once."""

    def __init__(self, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)

    def take(self) -> Callable[[], None] | None:
        """What gives the place back, any number of times; None if all are taken."""
        if not self._free.acquire(blocking=False):
            return None
        once = threading.Lock()

        def give_back() -> None:
            if once.acquire(blocking=False):
                self._free.release()

        return give_back


SEARCHES: Final = Places(5)
DOWNLOADS: Final = Places(2)


class Held:
    """Bytes of a streamed answer; `release` is called at its end, and when nobody reads on."""

    def __init__(self, parts: Generator[bytes, None, None], release: Callable[[], None]) -> None:
        self._parts = parts
        self._release = release

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._parts
        finally:
            self._release()

    def close(self) -> None:
        """The answer is over, sent or not: the search behind it ends. Called by Django."""
        self._parts.close()
        self._release()


def streamed(places: Places, start: Callable[[], Generator[bytes, None, None]]) -> HttpResponseBase:
    """NDJSON as it is made, with a place of its own; 503 if there is none.

    What `start` raises is raised here, before the answer has begun.
    """
    release = places.take()
    if release is None:
        return busy()
    try:
        parts = start()
    except BaseException:
        release()
        raise
    response = StreamingHttpResponse(Held(parts, release), content_type=NDJSON)
    response["X-Accel-Buffering"] = "no"
    response["Cache-Control"] = "private, no-store"
    return response


def busy() -> HttpResponse:
    """503: too many run at once."""
    words, hint = "too many searches run at once", "try again in a moment"
    return json_error(503, words, hint=hint, Retry_After=str(RETRY_S))
