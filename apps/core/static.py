"""Static files on their way to a browser."""

from __future__ import annotations

import gzip
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware

_TYPES = ("text/", "image/svg+xml")
_SMALL_BYTES = 1_000
_OK = 200


class CompressedStatic(WhiteNoiseMiddleware):  # type: ignore[misc] # comes without types
    """WhiteNoise that compresses a text file when it is first asked for, and keeps that.

    Charts are 1.5 MB of JavaScript, a third of that compressed. What is kept is bounded by the
    files that there are: below 1 MB.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._packed: dict[str, bytes] = {}

    def serve(self, static_file: Any, request: HttpRequest) -> HttpResponseBase:
        """The file, compressed for whoever takes that."""
        response = super().serve(static_file, request)
        if not self._packs(request, response):
            return cast(HttpResponseBase, response)
        body = self._packed.get(request.path_info)
        if body is None or self.autorefresh:
            body = gzip.compress(response.file_to_stream.read(), mtime=0)
            self._packed[request.path_info] = body
        response.file_to_stream.close()
        packed = HttpResponse(body, headers=dict(response.items()))
        packed["Content-Encoding"] = "gzip"
        packed["Content-Length"] = str(len(body))
        packed["Vary"] = "Accept-Encoding"
        return packed

    @staticmethod
    def _packs(request: HttpRequest, response: HttpResponseBase) -> bool:
        return (
            request.method == "GET"
            and response.status_code == _OK
            and "gzip" in request.headers.get("Accept-Encoding", "")
            and "Content-Encoding" not in response
            and response.get("Content-Type", "").startswith(_TYPES)
            and int(response.get("Content-Length", "0")) > _SMALL_BYTES
        )
