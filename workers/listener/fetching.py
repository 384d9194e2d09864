"""Requests of the listener: bounded in time and size, and only where NODE_TARGETS lets them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
from django.conf import settings

from apps.alerts.domain.outgoing import Reach
from apps.alerts.transports.http import (
    USER_AGENT,
    HttpPolicy,
    Refused,
    judged_address,
    usual_authorities,
)
from apps.core.errors import AppError

LIMIT_S: Final = 10.0
MAX_BYTES: Final = 64 << 20
"""What a Prometheus federates of 16,384 GPUs is some 30 MiB."""
_SAID: Final = 300


class Unreached(AppError):
    """No answer that could be used. status: of HTTP, 0 without one."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class TooLarge(Unreached):
    """An answer of more bytes than are taken."""


@dataclass(frozen=True, slots=True)
class Way:
    """How to reach a source. token_file: read for every request, because tokens are renewed."""

    verify: ssl.SSLContext | bool = True
    token_file: str = ""
    token: str = field(default="", repr=False)

    def headers(self) -> dict[str, str]:
        """With the token, if there is one; Unreached if its file cannot be read."""
        try:
            token = self.token or (
                Path(self.token_file).read_text(encoding="utf-8").strip() if self.token_file else ""
            )
        except (OSError, UnicodeDecodeError) as error:
            raise Unreached(f"the token cannot be read: {error}") from error
        own = {"Authorization": f"Bearer {token}"} if token else {}
        return {"User-Agent": USER_AGENT, **own}


def trust(ca_file: str, *, verify: bool) -> ssl.SSLContext | bool:
    """Whom to believe: the authorities of a file, the usual ones, or anybody. AppError for a file
    that holds none."""
    if not verify:
        return False
    if not ca_file:
        return usual_authorities()
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise AppError(f"{ca_file} holds no certificate: {error}", where="ca_file") from error


async def fetch(
    url: str, way: Way, params: Mapping[str, list[str]] | None = None, most: int = MAX_BYTES
) -> bytes:
    """The body of an answer 2xx; Unreached says why there is none, TooLarge that it has more than
    `most` bytes."""
    found = bytearray()
    try:
        async with asyncio.timeout(LIMIT_S), opened(url, way, params) as pieces:
            async for piece in pieces:
                found += piece
                if len(found) > most:
                    raise TooLarge(f"an answer of more than {most >> 20} MiB")
    except TimeoutError as error:
        raise Unreached(f"no answer within {LIMIT_S:g} s") from error
    return bytes(found)


@asynccontextmanager
async def opened(
    url: str, way: Way, params: Mapping[str, list[str]] | None = None, read_s: float = LIMIT_S
) -> AsyncIterator[AsyncIterator[bytes]]:
    """The pieces of an answer 2xx as they come. Redirects are not followed, proxies not used."""
    try:
        address = httpx.URL(url, params=params) if params else httpx.URL(url)
        reach = {"any": Reach.NEVER}.get(settings.NODE_TARGETS)
        nearest = Reach[settings.NODE_TARGETS.upper()] if reach is None else reach
        target = await judged_address(address, HttpPolicy(nearest=nearest))
        headers = way.headers() | {"Host": address.netloc.decode("ascii")}
        times = httpx.Timeout(LIMIT_S, read=read_s)
        async with (
            httpx.AsyncClient(verify=way.verify, trust_env=False, timeout=times) as client,
            client.stream(
                "GET",
                address.copy_with(host=target),
                headers=headers,
                extensions={"sni_hostname": address.raw_host.decode("ascii")},
            ) as response,
        ):
            if not response.is_success:
                said = (await _start_of(response)).decode("utf-8", "replace")
                words = f"HTTP {response.status_code}: {' '.join(said.split())}"[:_SAID]
                raise Unreached(words, status=response.status_code)
            yield response.aiter_bytes()
    except Refused as error:
        raise Unreached(str(error).replace("ALERT_TARGETS", "NODE_TARGETS")) from error
    except TimeoutError as error:
        raise Unreached(f"no answer within {LIMIT_S:g} s") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        raise Unreached(f"{type(error).__name__}: {error}"[:_SAID]) from error


async def _start_of(response: httpx.Response) -> bytes:
    async for piece in response.aiter_bytes():
        return piece[:_SAID]
    return b""
