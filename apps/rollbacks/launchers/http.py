"""Requests to the API of a cluster: JSON, a token, one address, bounded in time and size."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import orjson
from django.conf import settings

from apps.alerts.domain.outgoing import Reach, without
from apps.alerts.transports.http import HttpPolicy, Refused, judged_address
from apps.rollbacks.domain.handover import Outcome, Word
from apps.rollbacks.launchers.protocol import Made, Note

LIMIT_S: Final = 20.0
MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
"""A JobSet with thousands of replicas in its status is a few hundred kB."""
_TEXT_CHARS: Final = 500
_PASSING: Final = frozenset({408, 409, 423, 425, 429})
"""409 of a PATCH: somebody else has just changed the object."""


@dataclass(frozen=True, slots=True)
class Access:
    """What opens the other side. url, token, ca: "" where its commands know the way. None of them
    appears in a repr."""

    url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """status 0: no answer, text says why. body: {} if it was no JSON object."""

    status: int
    text: str
    body: Mapping[str, Any] = field(default_factory=dict)
    refused: bool = False

    @property
    def good(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300

    @property
    def outcome(self) -> Outcome:
        """What it means for a step: done, come again, or never."""
        if self.good:
            return Outcome(Word.DONE)
        later = not self.refused and (
            self.status == 0 or self.status >= 500 or self.status in _PASSING
        )
        return Outcome(Word.LATER if later else Word.FAILED, text=self.text, wait_s=2.0)


class Api:
    """One API server. note: keeps each request and its answer, never the token."""

    def __init__(self, access: Access, note: Note) -> None:
        self._access, self._note = access, note

    def ask(
        self, method: str, path: str, body: Any = None, form: str = "application/json"
    ) -> Reply:
        """The answer; never an exception. form: the content type of the body.

        The name is looked up once and its addresses are judged as those of alert channels are
        (LAUNCHER_TARGETS); redirects are not followed, proxies of the environment not used.
        """
        began = time.monotonic()
        try:
            reply = asyncio.run(self._within(method, path, body, form))
        except Refused as error:
            text = str(error).replace("ALERT_TARGETS", "LAUNCHER_TARGETS")
            reply = Reply(0, text, refused=True)
        except TimeoutError:
            reply = Reply(0, f"no answer within {LIMIT_S:g} s")
        except (httpx.HTTPError, OSError) as error:
            reply = Reply(0, f"{type(error).__name__}: {error}")
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            reply = Reply(0, f"{type(error).__name__}: {error}", refused=True)
        took_ms = int((time.monotonic() - began) * 1000)
        text = without(reply.text, (self._access.token,))
        said = f"{method} {path}" + (f" {orjson.dumps(body).decode()}" if body else "")
        self._note(Made(said[:2_000], f"[{reply.status}] {text}", took_ms))
        return Reply(reply.status, text, reply.body, reply.refused)

    async def _within(self, method: str, path: str, body: Any, form: str) -> Reply:
        async with asyncio.timeout(LIMIT_S):
            url = httpx.URL(self._access.url + path)
            nearest = {"any": Reach.NEVER}.get(settings.LAUNCHER_TARGETS)
            reach = nearest or Reach[settings.LAUNCHER_TARGETS.upper()]
            target = await judged_address(url, HttpPolicy(nearest=reach))
            verify = ssl.create_default_context(cadata=self._access.ca or None)
            headers = {
                "Authorization": f"Bearer {self._access.token}",
                "Host": url.netloc.decode("ascii"),
                "Accept": "application/json",
                "Content-Type": form,
            }
            async with (
                httpx.AsyncClient(verify=verify, trust_env=False, timeout=LIMIT_S) as client,
                client.stream(
                    method,
                    url.copy_with(host=target),
                    content=orjson.dumps(body) if body is not None else None,
                    headers=headers,
                    extensions={"sni_hostname": url.raw_host.decode("ascii")},
                ) as response,
            ):
                return await _reply(response)


async def _reply(response: httpx.Response) -> Reply:
    found = b""
    async for piece in response.aiter_bytes():
        found += piece
        if len(found) > MAX_ANSWER_BYTES:
            return Reply(response.status_code, "an answer of more than 8 MiB", refused=True)
    try:
        body = orjson.loads(found) if found else {}
    except orjson.JSONDecodeError:
        body = {}
    body = body if isinstance(body, dict) else {}
    if response.is_success:
        return Reply(response.status_code, "", body)
    said = str(body.get("message") or found[:_TEXT_CHARS].decode("utf-8", "replace"))
    text = f"HTTP {response.status_code}: {' '.join(said.split())[:_TEXT_CHARS]}"
    return Reply(response.status_code, text, body)
