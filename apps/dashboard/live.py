"""The event stream: one Valkey subscription a process, fanned out to every open page.

It carries invalidations only: a page that hears "run X changed" fetches what it shows. Slow
readers get merged messages, never a growing queue. A stream ends with the session it was opened
with: at once where that is told (`accounts/ended.py`), else at the next look at it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import orjson
import redis.asyncio
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from apps.core.live import CHANNEL
from apps.dashboard.live_sessions import Busy, Sessions

HEARTBEAT_S = 15.0
MERGE_S = 0.25
READY_S = 5.0
"""How long a page that is the first waits for the subscription before it is greeted."""
RETRY_S = 2.0
STREAM_S = 3_600.0
"""Then a page has to ask again."""
LOOK_S = 60.0
"""How old the look at a session gets before it is repeated: words may be lost, sessions grow old.
500 pages cost Postgres 17 small queries a second."""
LINGER_S = 60.0
"""How long the subscription outlives the last page."""
MOST_RUNS = 1_000
"""How many runs it is remembered of when they changed."""
PING_S = 10.0
"""After so long a silence Valkey is asked whether it is there; after another one it is not."""
log = logging.getLogger(__name__)


class Listener:
    """What one open page has not been told yet, merged to one message. run: its run, "" for a page
    of all runs: it hears that runs changed and not which, as hundreds of them may at once.

    session, person: who opened it. looked_s: when that was last found to be so; doubted: told since
    that it may not be.
    """

    def __init__(self, run: str, session: str = "", person: int | None = None) -> None:
        self.run, self.session, self.person = run, session, person
        self.looked_s, self.doubted = time.monotonic(), False
        self.step: int | None = None
        self.what: set[str] = set()
        self.wake = asyncio.Event()

    def add(self, message: dict[str, Any]) -> None:
        """Merges a message into what waits, if the page wants it."""
        if "person" in message:
            if message["person"] == self.person:
                self.doubt()
            return
        if self.run and message.get("run") != self.run:
            return
        self.what.update(message.get("what", []))
        step = message.get("step")
        if self.run and step is not None:
            self.step = step
        self.wake.set()

    def doubt(self) -> None:
        """Nothing more is told before the session was looked at."""
        self.doubted = True
        self.wake.set()

    def take(self) -> dict[str, Any]:
        """What waits; afterwards nothing does."""
        found = {"run": self.run or "*", "step": self.step, "what": sorted(self.what)}
        self.step = None
        self.what.clear()
        self.wake.clear()
        return found


class Past:
    """When each run was heard of last, since this process listens; of the newest MOST_RUNS."""

    def __init__(self) -> None:
        self._known_s = time.monotonic()
        self._runs: dict[str, float] = {}

    def add(self, run: str) -> None:
        """The run is heard of now."""
        self._runs.pop(run, None)
        self._runs[run] = time.monotonic()
        if len(self._runs) > MOST_RUNS:
            self._known_s = self._runs.pop(next(iter(self._runs)))

    def quiet_ms(self, run: str) -> int:
        """For how long nothing of a run was said for sure; "": of any run."""
        heard = self._runs.get(run) if run else next(reversed(self._runs.values()), None)
        return int((time.monotonic() - (heard or self._known_s)) * 1e3)


class Hub:
    """All listeners of this process, and the one subscription that feeds them."""

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()
        self.feed: asyncio.Task[None] | None = None
        self.past = Past()
        self._subscribed = asyncio.Event()
        self._deaf = False
        """Whether pages were greeted that could not hear yet."""

    def join(self, listener: Listener) -> None:
        """Starts the subscription with the first listener."""
        self.listeners.add(listener)
        if self.feed is None or self.feed.done():
            self._subscribed = asyncio.Event()
            self.feed = asyncio.get_running_loop().create_task(self._follow())

    async def ready(self) -> None:
        """Returns once whoever joined hears of changes; while Valkey is away, after READY_S."""
        try:
            await asyncio.wait_for(self._subscribed.wait(), READY_S)
        except TimeoutError:
            self._deaf = True

    def leave(self, listener: Listener) -> None:
        """Ends the subscription some time after the last listener: who goes from page to page
        comes back at once, and is told whether anything changed meanwhile."""
        self.listeners.discard(listener)
        if not self.listeners:
            asyncio.get_running_loop().call_later(LINGER_S, self._rest)

    def _rest(self) -> None:
        if not self.listeners and self.feed is not None:
            self.feed.cancel()
            self.feed = None

    async def _follow(self) -> None:
        """Subscribes, again and again while Valkey is away."""
        while True:
            try:
                await self._listen()
            except (redis.RedisError, OSError):
                log.warning("live.valkey_away", extra={"retry_s": RETRY_S})
            await asyncio.sleep(RETRY_S)

    async def _listen(self) -> None:
        """Ends with an error when the connection does, or is silent though it was asked: one that
        died without a word (a host that is gone, a firewall that forgot it) reads like a quiet
        one."""
        client = redis.asyncio.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=PING_S)
        async with client, client.pubsub() as channel:
            await channel.subscribe(CHANNEL)
            asked = False
            while True:
                message = await channel.get_message(timeout=PING_S)
                if message is not None:
                    self._heard(message)
                    asked = False
                elif asked:
                    raise redis.TimeoutError("Valkey says nothing")
                else:
                    await channel.ping()
                    asked = True

    def _heard(self, message: dict[str, Any]) -> None:
        """A subscription that is not the first follows on one that broke, be it mended here or by
        the client: what was said in between nobody knows, nor what was before a late first one."""
        if message["type"] == "message":
            self._tell(message)
        elif message["type"] == "subscribe":
            self.past = Past()
            if self._subscribed.is_set() or self._deaf:
                self._missed()
            self._deaf = False
            self._subscribed.set()

    def _missed(self) -> None:
        for listener in self.listeners:
            listener.add({"run": listener.run, "what": ["everything"]})
            listener.doubt()

    def _tell(self, message: dict[str, Any]) -> None:
        with suppress(orjson.JSONDecodeError):
            content = orjson.loads(message["data"])
            if "run" in content:
                self.past.add(content["run"])
            for listener in self.listeners:
                listener.add(content)


hub = Hub()


def _allowed_origin(request: HttpRequest) -> str:
    """The origin of the page, if it is this site on its web port; else nothing."""
    origin = request.headers.get("Origin", "")
    if not origin:
        return ""
    own = urlsplit(settings.PUBLIC_URL)
    if origin == f"{own.scheme}://{own.netloc}":
        return origin
    try:
        asked = urlsplit(origin)
        port = asked.port or (443 if asked.scheme == "https" else 80)
    except ValueError:  # a host or a port that none can be
        return ""
    host = request.get_host().rsplit(":", 1)[0]
    same = asked.hostname == host.strip("[]") and port == settings.PORT
    return origin if same else ""


def _with_cors(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    origin = _allowed_origin(request)
    if origin:
        response["Access-Control-Allow-Origin"] = origin
        response["Access-Control-Allow-Credentials"] = "true"
        response["Vary"] = "Origin"
    response["Cache-Control"] = "no-store"
    return response


sessions = Sessions()


async def events(request: HttpRequest) -> HttpResponseBase:
    """Invalidations as server-sent events, for logged-in people. ?run=KEY: of one run only.

    503 with Retry-After when it cannot be said in time who asks.
    """
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    try:
        person = await sessions.person(key)
    except Busy:
        wait = {"Retry-After": str(random.randint(2, 10))}  # noqa: S311 - spreads the next try
        return _with_cors(request, HttpResponse("come back", status=503, headers=wait))
    if person is None:
        return _with_cors(request, HttpResponse("log in first", status=401))
    listener = Listener(request.GET.get("run", ""), key, person)
    response = StreamingHttpResponse(_stream(listener), content_type="text/event-stream")
    response["X-Accel-Buffering"] = "no"
    return _with_cors(request, response)


async def _may_hear(listener: Listener) -> bool:
    """Whether the session of a page is still good. While that cannot be said, a page goes on of
    which nothing else is known, and one that is in doubt ends."""
    doubted, now_s = listener.doubted, time.monotonic()
    if not doubted and now_s - listener.looked_s < LOOK_S:
        return True
    listener.doubted, listener.looked_s = False, now_s
    try:
        return await sessions.person(listener.session) == listener.person
    except Busy:
        return not doubted


async def _stream(listener: Listener) -> AsyncIterator[bytes]:
    """hello, from which on nothing is missed, with how long nothing was before: a page that was
    asked for longer ago than that may show too little, and looks again.

    Then merged messages; a beat when nothing happened for a while, so that a page notices a
    connection that died without a word. Ends with the session; and after STREAM_S, when the page
    opens another one.

    There are no ids: a page that comes back asks for what is new since its own data, whatever it
    missed.
    """
    hub.join(listener)
    try:
        await hub.ready()
        retry_ms = 2000 + random.randrange(2000)  # noqa: S311 - spreads reconnects
        quiet = orjson.dumps({"quiet_ms": hub.past.quiet_ms(listener.run)})
        yield b"retry: %d\nevent: hello\ndata: %b\n\n" % (retry_ms, quiet)
        end = asyncio.get_running_loop().time() + STREAM_S
        while asyncio.get_running_loop().time() < end:
            with suppress(TimeoutError):
                await asyncio.wait_for(listener.wake.wait(), HEARTBEAT_S)
            if not await _may_hear(listener):
                break
            told = listener.take()
            if told["what"]:
                yield b"event: changed\ndata: " + orjson.dumps(told) + b"\n\n"
                await asyncio.sleep(MERGE_S)
            else:
                yield b"event: beat\ndata: {}\n\n"
    finally:
        hub.leave(listener)


async def health(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all."""
    return HttpResponse(b'{"live":true}', content_type="application/json")
