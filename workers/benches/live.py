"""`bench live`: what open pages cost the one event process.

Tabs are real connections of a logged-in person to the process as it runs in production; all look at
the same run, and messages about it come at a steady rate. Told: the delay from a message to the
moment a tab has it, memory a tab, CPU seconds a thousand deliveries, and how long other requests to
that process take meanwhile. The tabs live in the bench's own process and share the machine.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore

from apps.core import live
from apps.core.errors import AppError
from workers.benches.processes import child, wait_until
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import servers, tree, tree_s
from workers.embedded.probes import free_port
from workers.embedded.server import HOST
from workers.supervisor import probes

RUN = "bench-live"
TABS, MESSAGES, GAP_S = 500, 60, 0.5
AT_ONCE = 50
PROBE_S = 0.1
GREETED_S, LAST_S = 60.0, 30.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class Heard:
    """What all tabs were told: delays in seconds; and of other requests how long they took."""

    sent_s: dict[int, float] = field(default_factory=dict)
    delays_s: list[float] = field(default_factory=list)
    newest: dict[int, int] = field(default_factory=dict)
    others_s: list[float] = field(default_factory=list)


def run(options: BenchOptions) -> BenchReport:
    """Delay, memory and CPU of --keys tabs that hear --steps messages."""
    tabs, messages = options.keys or TABS, options.steps or MESSAGES
    port = free_port()
    words = ("-m", "granian", "--interface", "asginl", "--host", HOST, "--port", str(port),
             "config.asgi:application")  # fmt: skip
    with ExitStack() as stack:
        running = stack.enter_context(servers())
        env = {
            **os.environ,
            "LASTGOOD_HOME": str(running.home),
            "DATABASE_URL": running.database_url,
            "REDIS_URL": settings.REDIS_URL,
            "SECRET_KEY": settings.SECRET_KEY,  # sessions are signed here and read there
        }
        events = stack.enter_context(child("events", words, running.home, env))
        wait_until(lambda: probes.http_ok(HOST, port, "/health/live") is None, "events")
        measured = asyncio.run(_measure(events.pid, port, _cookie(), (tabs, messages)))
    return _report(tabs, messages, *measured)


def _cookie() -> str:
    """A session of a person, as the browser sends it."""
    person = User.objects.create_user("bench")
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.create()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


async def _measure(
    pid: int, port: int, cookie: str, size: tuple[int, int]
) -> tuple[Heard, dict[str, float]]:
    """What was heard, and memory and CPU of the event process."""
    tabs, messages = size
    first = await _open(port, cookie)
    alone = _resident(pid)
    opened = [first]
    for start in range(1, tabs, AT_ONCE):
        some = range(start, min(start + AT_ONCE, tabs))
        opened += await asyncio.gather(*(_open(port, cookie) for _ in some))
    heard, cpu_s = Heard(), tree_s(pid)
    listening = [asyncio.create_task(_listen(heard, n, tab[0])) for n, tab in enumerate(opened)]
    asking = asyncio.create_task(_ask(heard, port))
    for step in range(1, messages + 1):
        heard.sent_s[step] = time.perf_counter()
        await asyncio.to_thread(live.publish, RUN, step=step, what=["metrics"])
        await asyncio.sleep(GAP_S)
    await _all_told(heard, tabs, messages)
    used = {"cpu_s": tree_s(pid) - cpu_s, "alone": alone, "full": _resident(pid)}
    for task in (*listening, asking):
        task.cancel()
    await asyncio.gather(*listening, asking, return_exceptions=True)
    for _, writer in opened:
        writer.close()
    return heard, used


async def _open(port: int, cookie: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A tab that was greeted."""
    reader, writer = await asyncio.open_connection(HOST, port)
    head = f"GET /events?run={RUN} HTTP/1.1\r\nHost: {HOST}:{port}\r\nCookie: {cookie}\r\n\r\n"
    writer.write(head.encode())
    said = await asyncio.wait_for(reader.readuntil(b"event: hello\n"), GREETED_S)
    if b" 200 " not in said.split(b"\r\n", 1)[0]:
        raise AppError("the event process does not know the session")
    return reader, writer


async def _listen(heard: Heard, tab: int, reader: asyncio.StreamReader) -> None:
    while line := await reader.readline():
        if line.startswith(b'data: {"run"'):
            step = orjson.loads(line[6:])["step"]
            heard.delays_s.append(time.perf_counter() - heard.sent_s[step])
            heard.newest[tab] = step


async def _ask(heard: Heard, port: int) -> None:
    """Small requests to the same process, one after the other."""
    while True:
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(f"GET /health/live HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        await reader.readuntil(b"true}")
        heard.others_s.append(time.perf_counter() - began)
        writer.close()
        await asyncio.sleep(PROBE_S)


async def _all_told(heard: Heard, tabs: int, last: int) -> None:
    """Returns once every tab has heard of the last message."""
    end = time.monotonic() + LAST_S
    while sum(step == last for step in heard.newest.values()) < tabs:
        if time.monotonic() > end:
            raise AppError(f"after {LAST_S:.0f} s not every tab was told of the last message")
        await asyncio.sleep(0.05)


def _resident(pid: int) -> int:
    """Bytes of memory of the process and what it started."""
    pages = (Path(f"/proc/{one}/statm").read_text(encoding="ascii") for one in tree(pid))
    return sum(int(text.split()[1]) for text in pages) * PAGE_BYTES


def _ms(seconds: Sequence[float], percent: float) -> float:
    return round(float(np.percentile(seconds, percent)) * 1e3, 1)


def _report(tabs: int, messages: int, heard: Heard, used: dict[str, float]) -> BenchReport:
    told = len(heard.delays_s)
    figures = {
        "tabs": tabs,
        "messages": messages,
        "messages_per_s": 1 / GAP_S,
        "told": told,
        "delay_p50_ms": _ms(heard.delays_s, 50),
        "delay_p99_ms": _ms(heard.delays_s, 99),
        "memory_mib": round(used["full"] / 2**20, 1),
        "kib_per_tab": round((used["full"] - used["alone"]) / max(1, tabs - 1) / 1024, 1),
        "cpu_s_per_1000_told": round(used["cpu_s"] / told * 1e3, 3),
        "others_p50_ms": _ms(heard.others_s, 50),
        "others_max_ms": _ms(heard.others_s, 100),
    }
    rows = tuple((name.replace("_", " "), f"{value:,}") for name, value in figures.items())
    return BenchReport(("what", "measured"), rows, figures)
