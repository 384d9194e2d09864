"""The launcher's side of rollbacks: ask for the resume point, take an order on."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

WAIT_S = 25
PAUSE_S = 1.0
_WAITING = ("requested", "acknowledged")


class Orders:
    """Long-polls the resume point of one run. Any launcher could do the same with curl."""

    def __init__(self, url: str, token: str, run: str) -> None:
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=WAIT_S + 15.0,
            trust_env=False,
        )
        self._path = f"/api/v1/runs/{quote(run, safe='')}"
        self._etag = ""

    def next(self, stop: threading.Event) -> Mapping[str, Any] | None:
        """The next order that waits for a launcher; None once `stop` is set.

        A run that does not exist yet, a busy or restarting server: asked again after a moment.
        """
        while not stop.is_set():
            payload = self._ask(stop)
            if payload and payload.get("source") == "order" and payload.get("state") in _WAITING:
                return payload
        return None

    def acknowledge(self, order: int, launch: str) -> str:
        """Take an order on; "" if that worked, else why not. The same launch may ask again."""
        url = f"{self._path}/rollback/{order}/acknowledge"
        try:
            response = self._client.post(url, json={"launch": launch})
        except httpx.HTTPError as error:
            return f"{type(error).__name__}: {error}"
        return "" if response.is_success else f"{response.status_code}: {response.text[:300]}"

    def forget(self) -> None:
        """Ask for the whole resume point again at the next call of next()."""
        self._etag = ""

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, stop: threading.Event) -> Mapping[str, Any] | None:
        headers = {"If-None-Match": self._etag} if self._etag else {}
        try:
            response = self._client.get(
                f"{self._path}/resume-point", params={"wait": WAIT_S}, headers=headers
            )
        except httpx.HTTPError:
            stop.wait(PAUSE_S)
            return None
        if response.status_code == httpx.codes.NOT_MODIFIED:
            stop.wait(float(response.headers.get("Retry-After", "0")))
            return None
        if not response.is_success:
            stop.wait(PAUSE_S)
            return None
        self._etag = response.headers.get("ETag", "")
        payload: Mapping[str, Any] = response.json().get("payload", {})
        return payload
