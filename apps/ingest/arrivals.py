"""How fast the data of runs arrives: what was counted, looked at every few seconds, in Valkey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import orjson
import redis

from apps.core import valkey
from apps.ingest import store
from apps.runs.board_store import watched_ids

_SAMPLES: Final = "{ingest}:samples"
KEPT: Final = 5
"""Samples of which the first and the last are compared: the last minute, at one each 15 s."""
STALE_NS: Final = 120_000_000_000
"""An older sample says nothing of now: nobody takes samples any more."""


@dataclass(frozen=True, slots=True)
class Sample:
    """run id -> points and log lines written so far."""

    at_ns: int
    totals: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pace:
    """What was written of a run in a second, over the last minute."""

    points_s: float
    lines_s: float


def take_sample(now_ns: int) -> None:
    """Notes how much of each watched run is written. Without Valkey nothing: it is no truth."""
    totals = {str(run_id): found for run_id, found in store.written(watched_ids()).items()}
    sample = orjson.dumps({"at_ns": now_ns, "totals": totals})
    with suppress(redis.RedisError):
        pipe = valkey.client().pipeline(transaction=True)
        pipe.lpush(_SAMPLES, sample)
        pipe.ltrim(_SAMPLES, 0, KEPT - 1)
        pipe.execute()


def paces(now_ns: int) -> dict[int, Pace]:
    """run id -> how fast it arrives now; only of runs that are watched."""
    with suppress(redis.RedisError):
        kept: Any = valkey.client().lrange(_SAMPLES, 0, KEPT - 1)
        samples = [_read(orjson.loads(one)) for one in kept]
        return compared([one for one in samples if now_ns - one.at_ns < STALE_NS])
    return {}


def _read(kept: dict[str, Any]) -> Sample:
    totals = {int(run_id): (points, lines) for run_id, (points, lines) in kept["totals"].items()}
    return Sample(kept["at_ns"], totals)


def compared(samples: Sequence[Sample]) -> dict[int, Pace]:
    """run id -> its pace between the oldest and the newest sample; samples: the newest first."""
    if len(samples) < 2 or samples[0].at_ns <= samples[-1].at_ns:
        return {}
    newest, oldest = samples[0], samples[-1]
    seconds = (newest.at_ns - oldest.at_ns) / 1e9
    return {
        run_id: Pace(*(max(0, b - a) / seconds for a, b in zip(before, now, strict=True)))
        for run_id, now in newest.totals.items()
        if (before := oldest.totals.get(run_id)) is not None
    }
