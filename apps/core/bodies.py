"""Slow senders. A body is read by a thread of web, and a sender that stalls would keep it.

granian offers no deadline for a body, and a read cannot be ended from outside. So only few bodies
are read at a time, and the other threads stay free for pages. A sender that keeps pace needs
its place for the moment its bytes take, so it pays to wait for one when a thousand ranks send at
once; where all places are held by senders that stall, who comes is told to come back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any, Final

READ_AT_ONCE: Final = {
    ("/login/",): 1,
    ("/api/v1/", "/loki/", "/v1/", "/otlp/"): 4,
    ("/files/upload/",): 3,
    ("/files/",): 2,
    ("",): 2,
}
"""Places for bodies by the beginning of the path, the first that fits. The sum, and the long polls
of resume-point, must stay below `--blocking-threads`. Files that a `wandb` run uploads may be slow:
its metrics do not wait for their places. Strangers reach the body of the login page only: they
block only each other."""
STALLED_S: Final = 2.0
"""Who has read for longer keeps no pace."""
PATIENCE_S: Final = 10.0
"""Nobody waits longer for a place."""


class NoPlace(OSError):
    """Too many bodies are being read. Django makes it an UnreadablePostError."""


class Places:
    """Room for a number of bodies at a time."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._changed = threading.Condition()
        self._since: dict[object, float] = {}

    def take(self) -> object:
        """A place, once there is one; NoPlace as soon as all are held by senders that stall."""
        asked_s = time.monotonic()
        with self._changed:
            while len(self._since) >= self._count:
                now_s = time.monotonic()
                left_s = min(max(self._since.values()) + STALLED_S, asked_s + PATIENCE_S) - now_s
                if left_s <= 0:
                    raise NoPlace("too many bodies are being received")
                self._changed.wait(left_s)
            place = object()
            self._since[place] = time.monotonic()
            return place

    def leave(self, place: object) -> None:
        """The body is read."""
        with self._changed:
            del self._since[place]
            self._changed.notify()


class _Body:
    """wsgi.input that needs a place while it is read."""

    def __init__(self, stream: Any, places: Places) -> None:
        self._stream = stream
        self._places = places

    def read(self, *size: int) -> bytes:
        return self._with_place(self._stream.read, *size)

    def readline(self, *size: int) -> bytes:
        return self._with_place(self._stream.readline, *size)

    def _with_place(self, read: Any, *size: int) -> bytes:
        place = self._places.take()
        try:
            found: bytes = read(*size)
        finally:
            self._places.leave(place)
        return found


class FewBodies:
    """A WSGI application whose bodies are read a few at a time."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._places = [(starts, Places(count)) for starts, count in READ_AT_ONCE.items()]

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        places = next(found for starts, found in self._places if path.startswith(starts))
        environ["wsgi.input"] = _Body(environ["wsgi.input"], places)
        answer: Iterable[bytes] = self._application(environ, start_response)
        return answer
