"""One POST to a server that nobody here controls, bounded in time, size and direction."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import time
from dataclasses import dataclass
from functools import cache

import httpx

from apps.alerts.domain.outgoing import Answer, Call, Reach, Verdict, judge, reach, without

USER_AGENT = "Lastgood"


@dataclass(frozen=True, slots=True)
class HttpPolicy:
    """total_s: for everything, from the name to the last byte. answer_bytes: read of an answer,
    the rest is dropped. nearest: addresses nearer than this are refused. proxy: where requests go
    instead of to the address itself, which then is judged by the proxy."""

    nearest: Reach = Reach.PRIVATE
    proxy: str = ""
    total_s: float = 10.0
    answer_bytes: int = 4_096


class Refused(Exception):
    """The address may not be spoken to."""


def post(call: Call, policy: HttpPolicy) -> Answer:
    """The answer; never an exception, and no secret of the call in its text.

    Not for use inside of a running event loop. The name is looked up once, every address of it is
    judged, and the connection goes to one of those: a name that changes its mind between the two
    gains nothing. Redirects are not followed, proxies of the environment are not used.
    """
    try:
        answer = asyncio.run(_within(call, policy))
    except Refused as error:
        answer = Answer(Verdict.NEVER, 0, str(error))
    except TimeoutError:
        answer = Answer(Verdict.LATER, 0, f"no answer within {policy.total_s:g} s")
    except (httpx.HTTPError, OSError) as error:
        answer = Answer(Verdict.LATER, 0, f"{type(error).__name__}: {error}")
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        answer = Answer(Verdict.NEVER, 0, f"{type(error).__name__}: {error}")
    return Answer(
        answer.verdict,
        answer.status,
        without(answer.text, (call.url, policy.proxy, *call.secrets)),
        answer.wait_s,
    )


async def _within(call: Call, policy: HttpPolicy) -> Answer:
    async with asyncio.timeout(policy.total_s):
        url = httpx.URL(call.url)
        allowed = await judged_address(url, policy)
        async with httpx.AsyncClient(
            verify=usual_authorities(),
            trust_env=False,
            timeout=policy.total_s,
            proxy=policy.proxy or None,
        ) as client:
            return await _asked(client, call, url, allowed, policy.answer_bytes)


@cache
def usual_authorities() -> ssl.SSLContext:
    """The authorities to trust: certifi's, or those of SSL_CERT_FILE. It takes 50 ms, once."""
    return httpx.create_ssl_context()


async def _asked(
    client: httpx.AsyncClient, call: Call, url: httpx.URL, target: str, limit: int
) -> Answer:
    headers = {"User-Agent": USER_AGENT, **call.headers, "Host": url.netloc.decode("ascii")}
    async with client.stream(
        "POST",
        url.copy_with(host=target),
        content=call.body,
        headers=headers,
        extensions={"sni_hostname": url.raw_host.decode("ascii")},
    ) as response:
        text = await _start_of(response, limit)
        return judge(response.status_code, response.headers.get("Retry-After"), text, time.time())


async def _start_of(response: httpx.Response, limit: int) -> str:
    """The first bytes of an answer as they came: a compressed one is not inflated."""
    found = b""
    if response.is_success:
        return ""
    async for piece in response.aiter_raw():
        found += piece
        if len(found) >= limit:
            break
    return found[:limit].decode("utf-8", "replace")


async def judged_address(url: httpx.URL, policy: HttpPolicy) -> str:
    """The address to connect to; Refused if any that the name stands for is too near."""
    if policy.proxy:
        _refuse_literal(url.host, policy.nearest)
        return url.host
    port = url.port or (443 if url.scheme == "https" else 80)
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        _refuse(address, policy.nearest)
    return addresses[0]


def _refuse_literal(host: str, nearest: Reach) -> None:
    """Refuses a host that is written as an address, or names this machine."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        host = "127.0.0.1" if host.rstrip(".").lower() == "localhost" else ""
    if host:
        _refuse(host, nearest)


def _refuse(address: str, nearest: Reach) -> None:
    near = reach(ipaddress.ip_address(address.partition("%")[0]))
    if near <= nearest:
        return
    kind = near.name.lower() if near < Reach.NEVER else "link-local or metadata"
    raise Refused(f"{address} is a {kind} address; see ALERT_TARGETS")
