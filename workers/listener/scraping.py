"""Exporters and gpuds, asked again and again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.ingest.exposition.parse import NAMES
from apps.ingest.exposition.parse import parse as parse_metrics
from apps.ingest.gpud.parse import parse as parse_gpud
from apps.ingest.nodes.parse import NodeBatch, Sender
from apps.ingest.nodes.sources import Source, Target, is_federation, targets
from apps.ingest.nodes.status import QUIET_S, Status
from workers.listener.fetching import MAX_BYTES, TooLarge, Way, fetch, trust
from workers.listener.taking import Taker

AT_ONCE, SMALL_BYTES = 64, 2 << 20
"""Addresses at a time, and what each of their answers may have."""
LARGE_AT_ONCE: Final = 3
"""Of addresses that answer more, up to MAX_BYTES. So a listener holds half a GiB at most."""
_SINCE_S: Final = 3_600
"""How far back gpud is asked for events; what it tells again is the same event."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one address said. error: why it said nothing, "" if it did."""

    target: Target
    at_ns: int
    bodies: tuple[bytes, ...] = ()
    error: str = ""


class Lanes:
    """Bounds what all sources of a listener hold at once: an answer has its place from before it is
    asked for until it is taken. Addresses that answer more than SMALL_BYTES have few places of
    their own."""

    def __init__(self) -> None:
        self._small = asyncio.Semaphore(AT_ONCE)
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._known_large: set[str] = set()

    async def hear(
        self, source: Source, target: Target, way: Way, take: Callable[[Answer], Awaitable[None]]
    ) -> None:
        """Asks one address, and has its answer taken."""
        parts = _parts(source, target, way)
        if target.url not in self._known_large and not is_federation(target.url):
            with suppress(TooLarge):
                async with self._small:
                    await take(await _answer(target, parts, SMALL_BYTES))
                    return
            self._known_large.add(target.url)
        async with self._large:
            await take(await _answer(target, parts, MAX_BYTES))


async def ask(source: Source, lanes: Lanes, take: Callable[[Answer], Awaitable[None]]) -> None:
    """Every address of a source once; each answer is taken as it comes, and so is why there is
    none. None of them is asked while the authorities to believe cannot be read. What `take` raises
    ends it."""
    try:
        way = Way(trust(source.ca_file, verify=source.verify), source.token_file)
    except AppError as error:
        for target in targets(source):
            await take(Answer(target, now_ns(), error=str(error)))
        return
    try:
        async with asyncio.TaskGroup() as group:
            for target in targets(source):
                group.create_task(lanes.hear(source, target, way, take))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _answer(
    target: Target, parts: Sequence[tuple[str, Way, dict[str, list[str]]]], most: int
) -> Answer:
    """TooLarge for what may be larger."""
    try:
        bodies = [await fetch(*part, most=most) for part in parts]
        return Answer(target, now_ns(), tuple(bodies))
    except AppError as error:
        if isinstance(error, TooLarge) and most < MAX_BYTES:
            raise
        return Answer(target, now_ns(), error=f"{_host(target)}: {error}")


def _parts(source: Source, target: Target, way: Way) -> list[tuple[str, Way, dict[str, list[str]]]]:
    if source.kind == "gpud":
        since = str(now_ns() // 10**9 - _SINCE_S)
        base = target.url.rstrip("/")
        return [
            (f"{base}/v1/events", way, {"startTime": [since]}),
            (f"{base}/v1/states", way, {}),
        ]
    if not is_federation(target.url):
        return [(target.url, way, {})]
    named = "|".join(sorted(NAMES - {"up"}))
    matches = [f'{{__name__=~"{named}"}}', 'up{job=~".*(node|dcgm).*"}']
    return [(target.url, way, {"match[]": matches})]


def _host(target: Target) -> str:
    return urlsplit(target.url).netloc


@dataclass(slots=True)
class Turn:
    """One turn over the addresses of a source. before: how the source fared until then."""

    source: Source
    taker: Taker
    before: Status | None = None
    _asked: int = 0
    _told: int = 0
    _heard_ns: int = 0
    _errors: list[str] = field(default_factory=list)
    _left_out: Counter[str] = field(default_factory=Counter)

    def take(self, answer: Answer) -> None:
        """Takes what an address said. Raises services.Refused."""
        self._asked += 1
        if answer.error:
            self._errors.append(answer.error)
            return
        try:
            batches = [_parsed(self.source, answer, body) for body in answer.bodies]
        except AppError as error:
            self._errors.append(f"{_host(answer.target)}: {error}")
            return
        self._heard_ns = max(self._heard_ns, answer.at_ns)
        for batch in batches:
            self._told += self.taker.take(self.source.name, batch)
            self._left_out.update(batch.left_out)

    def status(self) -> Status:
        """How the source fares now."""
        before_ns, before_told = (self.before.heard_ns, self.before.told) if self.before else (0, 0)
        return Status(
            name=self.source.name,
            kind=self.source.kind,
            tried_ns=now_ns(),
            heard_ns=max(before_ns, self._heard_ns),
            silent_after_s=max(QUIET_S, 3 * self.source.every_s),
            targets=self._asked,
            failing=len(self._errors),
            error=min(self._errors, default=""),
            told=before_told + self._told,
            left_out={why: count for why, count in self._left_out.items() if count},
        )


def _parsed(source: Source, answer: Answer, body: bytes) -> NodeBatch:
    parse = parse_gpud if source.kind == "gpud" else parse_metrics
    return parse(body, Sender(answer.target.node, answer.at_ns))
