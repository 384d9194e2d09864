"""What the server answers, as records; what goes wrong, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

TIMEOUT_S = 60.0
MAX_ERROR_BYTES = 64 << 10


class Trouble(Exception):
    """Why it does not go on. again: a later try may succeed."""

    def __init__(self, message: str, *, hint: str = "", again: bool = False) -> None:
        super().__init__(f"{message}\n  {hint}" if hint else message)
        self.again = again


class Server:
    """A Lastgood server and the token to ask it with."""

    def __init__(self, url: str, token: str) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise Trouble(f'"{url}" is no address', hint="such as http://lastgood.example:8000")
        self.url = url.rstrip("/")
        self.token = token

    def records(self, path: str, asked: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """NDJSON records of an answer, as they come. Raises Trouble."""
        request = Request(  # noqa: S310 - the scheme is checked
            f"{self.url}{path}?{urlencode(asked)}",
            headers={"Authorization": f"Bearer {self.token}", "Accept": "application/x-ndjson"},
        )
        try:
            with cast(HTTPResponse, urlopen(request, timeout=TIMEOUT_S)) as answer:  # noqa: S310
                for line in answer:
                    yield json.loads(line)
        except HTTPError as error:
            raise _refused(error) from error
        except (URLError, OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise Trouble(f"{self.url} does not answer: {reason}", again=True) from error


def _refused(error: HTTPError) -> Trouble:
    """The server's own words."""
    try:
        said = json.loads(error.read(MAX_ERROR_BYTES))
        message = f"{said['error']} ({said['where']})" if said.get("where") else said["error"]
        hint = said.get("hint", "")
    except (ValueError, KeyError, TypeError, OSError):
        message, hint = f"the server answers {error.code}", ""
    return Trouble(message, hint=hint, again=error.code in (429, 502, 503, 504))
