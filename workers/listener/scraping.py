"""Exporters and gpuds, asked again and again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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
from workers.listener.fetching import Way, fetch, trust
from workers.listener.taking import Taker

AT_ONCE: Final = 64
"""Requests at a time."""
_SINCE_S: Final = 3_600
"""How far back gpud is asked for events; what it tells again is the same event."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one address said. error: why it said nothing, "" if it did."""

    target: Target
    at_ns: int
    bodies: tuple[bytes, ...] = ()
    error: str = ""


async def ask(source: Source) -> list[Answer]:
    """Every address of a source once; those that do not answer say why. None of them is asked
    while the authorities to believe cannot be read."""
    try:
        way = Way(trust(source.ca_file, verify=source.verify), source.token_file)
    except AppError as error:
        return [Answer(target, now_ns(), error=str(error)) for target in targets(source)]
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(target: Target) -> Answer:
        async with turns:
            try:
                bodies = [await fetch(*part) for part in _parts(source, target, way)]
                return Answer(target, now_ns(), tuple(bodies))
            except AppError as error:
                return Answer(target, now_ns(), error=f"{_host(target)}: {error}")

    return await asyncio.gather(*(one(target) for target in targets(source)))


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


def take(source: Source, answers: Sequence[Answer], before: Status | None, taker: Taker) -> Status:
    """Takes what was said, and says how the source fares. Raises services.Refused."""
    errors = [answer.error for answer in answers if answer.error]
    told = before.told if before else 0
    left_out: Counter[str] = Counter()
    heard_ns = before.heard_ns if before else 0
    for answer in answers:
        if answer.error:
            continue
        try:
            batches = [_parsed(source, answer, body) for body in answer.bodies]
        except AppError as error:
            errors.append(f"{_host(answer.target)}: {error}")
            continue
        heard_ns = max(heard_ns, answer.at_ns)
        for batch in batches:
            told += taker.take(source.name, batch)
            left_out.update(batch.left_out)
    return Status(
        name=source.name,
        kind=source.kind,
        tried_ns=now_ns(),
        heard_ns=heard_ns,
        silent_after_s=max(QUIET_S, 3 * source.every_s),
        targets=len(answers),
        failing=len(errors),
        error=errors[0] if errors else "",
        told=told,
        left_out={why: count for why, count in left_out.items() if count},
    )


def _parsed(source: Source, answer: Answer, body: bytes) -> NodeBatch:
    parse = parse_gpud if source.kind == "gpud" else parse_metrics
    return parse(body, Sender(answer.target.node, answer.at_ns))
