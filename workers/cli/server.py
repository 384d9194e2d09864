"""What the server answers, as records; what goes wrong, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

TIMEOUT_S = 60.0
MAX_ERROR_BYTES = 64 << 10
NOT_MODIFIED = 304


class Trouble(Exception):
    """Why it does not go on. again: a later try may succeed."""

    def __init__(self, message: str, *, hint: str = "", again: bool = False) -> None:
        super().__init__(f"{message}\n  {hint}" if hint else message)
        self.again = again


@dataclass(frozen=True, slots=True)
class Reply:
    """document: None if it has not changed. wait_s: how long the server asks to stay away."""

    document: dict[str, Any] | None
    etag: str = ""
    wait_s: float = 0.0


class Server:
    """A Lastgood server and the token to ask it with."""

    def __init__(self, url: str, token: str) -> None:
        try:
            known = urlsplit(url).scheme in ("http", "https")
        except ValueError:
            known = False
        if not known:
            raise Trouble(f'"{url}" is no address', hint="such as http://lastgood.example:8000")
        self.url = url.rstrip("/")
        self.token = token

    def records(self, path: str, asked: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """NDJSON records of an answer, as they come. Raises Trouble."""
        request = self._request(f"{path}?{urlencode(asked)}", {"Accept": "application/x-ndjson"})
        with self._answer(request) as answer:
            for line in answer:
                yield json.loads(line)

    def document(self, path: str, asked: Mapping[str, str], etag: str = "") -> Reply:
        """A JSON object; none if `etag` still names it. Raises Trouble."""
        known = {"If-None-Match": etag} if etag else {}
        query = f"?{urlencode(asked)}" if asked else ""
        try:
            with self._answer(self._request(f"{path}{query}", known)) as answer:
                return Reply(json.load(answer), answer.headers.get("ETag", ""))
        except _Unchanged as unchanged:
            return Reply(None, etag, unchanged.wait_s)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a JSON object. Raises Trouble."""
        request = self._request(path, {"Content-Type": "application/json"})
        request.data = json.dumps(body).encode()
        with self._answer(request) as answer:
            return cast(dict[str, Any], json.load(answer))

    def _request(self, path: str, headers: Mapping[str, str]) -> Request:
        return Request(  # noqa: S310 - the scheme is checked
            f"{self.url}{path}", headers={"Authorization": f"Bearer {self.token}", **headers}
        )

    @contextmanager
    def _answer(self, request: Request) -> Iterator[HTTPResponse]:
        """The answer while it is read; what goes wrong meanwhile becomes Trouble."""
        try:
            with cast(HTTPResponse, urlopen(request, timeout=TIMEOUT_S)) as answer:  # noqa: S310
                yield answer
        except HTTPError as error:
            if error.code == NOT_MODIFIED:
                raise _Unchanged(float(error.headers.get("Retry-After") or 0)) from error
            raise _refused(error) from error
        except (URLError, OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise Trouble(f"{self.url} does not answer: {reason}", again=True) from error


class _Unchanged(Exception):
    """The server has nothing new."""

    def __init__(self, wait_s: float) -> None:
        super().__init__("not modified")
        self.wait_s = wait_s


def _refused(error: HTTPError) -> Trouble:
    """The server's own words."""
    try:
        said = json.loads(error.read(MAX_ERROR_BYTES))
        message = f"{said['error']} ({said['where']})" if said.get("where") else said["error"]
        hint = said.get("hint", "")
    except (ValueError, KeyError, TypeError, OSError):
        message, hint = f"the server answers {error.code}", ""
    return Trouble(message, hint=hint, again=error.code in (429, 502, 503, 504))
