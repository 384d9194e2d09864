"""Strict JSON out; every body in through orjson."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from apps.core.plain import plain


class StrictJson(BaseRenderer):
    """Non-finite numbers become "NaN", "Infinity", "-Infinity"."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return orjson.dumps(plain(data), option=orjson.OPT_NON_STR_KEYS)


class StrictParser(Parser):
    """A body that is not JSON is told where it stops being JSON. NUL is refused: Postgres holds no
    such text."""

    def parse_body(self, request: HttpRequest) -> Any:
        if b"\\u0000" in request.body:
            raise HttpError(400, "a text in the body holds NUL")
        try:
            return orjson.loads(request.body)
        except orjson.JSONDecodeError as error:
            raise HttpError(400, f"the body is not JSON: {error}") from error
