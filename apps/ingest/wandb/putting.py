"""Bodies that a client puts to a signed address: bounded in bytes and time."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, UnreadablePostError

from apps.core.database import SERVER_TROUBLE
from apps.core.http import json_error
from apps.core.words import whole

MAX_UPLOAD_S = 60.0
_PIECE_BYTES = 1 << 16


def received(request: HttpRequest, most_bytes: int) -> bytes | None:
    """The body, read to its end; None if it is larger than it may be.

    UnreadablePostError if the sender went away before its end, or was too slow with a body that
    may be kept.
    """
    pieces, size, end = list[bytes](), 0, time.monotonic() + MAX_UPLOAD_S
    while piece := request.read(_PIECE_BYTES):
        size += len(piece)
        pieces.append(piece)
        if size > most_bytes:
            pieces.clear()
        if time.monotonic() > end and size > most_bytes:
            return None
        if time.monotonic() > end:
            raise UnreadablePostError(f"the body took longer than {MAX_UPLOAD_S:.0f} s")
    if size != int(request.headers["Content-Length"]):
        raise UnreadablePostError("the body was cut")
    return b"".join(pieces) if size <= most_bytes else None


def refused(request: HttpRequest, keep: Callable[[], None]) -> HttpResponse | None:
    """Has the body kept; the answer if that cannot be done now."""
    if whole(request.headers.get("Content-Length", "")) is None:
        return json_error(411, "the body has no length", hint="send a Content-Length")
    try:
        keep()
    except SERVER_TROUBLE:
        return json_error(503, "the database does not answer", hint="retry", Retry_After="2")
    except UnreadablePostError as error:
        return json_error(503, str(error), hint="send it again", Retry_After="1")
    return None
