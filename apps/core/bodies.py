"""Slow senders. A body is read by a thread of web, and a sender that stalls would keep it.

granian offers no deadline for a body, and a read cannot be ended from outside. So only few bodies
are read at a time, and the other threads stay free for pages. A sender that keeps pace needs
its place for the moment its bytes take; who finds no place is told to come back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Final

READ_AT_ONCE: Final = {"/login/": 1, "/api/v1/": 4, "/files/upload/": 3, "/files/": 2, "": 2}
"""Places for bodies by the beginning of the path, the first that fits. The sum, and the long polls
of resume-point, must stay below `--blocking-threads`. Files that a `wandb` run uploads may be slow:
its metrics do not wait for their places. Strangers reach the body of the login page only: they
block only each other."""


class NoPlace(OSError):
    """Too many bodies are being read. Django makes it an UnreadablePostError."""


class _Body:
    """wsgi.input that needs a place while it is read."""

    def __init__(self, stream: Any, places: threading.BoundedSemaphore) -> None:
        self._stream = stream
        self._places = places

    def read(self, *size: int) -> bytes:
        return self._with_place(self._stream.read, *size)

    def readline(self, *size: int) -> bytes:
        return self._with_place(self._stream.readline, *size)

    def _with_place(self, read: Any, *size: int) -> bytes:
        if not self._places.acquire(blocking=False):
            raise NoPlace("too many bodies are being received")
        try:
            found: bytes = read(*size)
        finally:
            self._places.release()
        return found


class FewBodies:
    """A WSGI application whose bodies are read a few at a time."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._places = [
            (start, threading.BoundedSemaphore(count)) for start, count in READ_AT_ONCE.items()
        ]

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        places = next(found for start, found in self._places if path.startswith(start))
        environ["wsgi.input"] = _Body(environ["wsgi.input"], places)
        answer: Iterable[bytes] = self._application(environ, start_response)
        return answer
