"""What the event process hears: "run X has new data", "sessions of person 7 have ended". Never
data, never required for truth."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import orjson
import redis

from apps.core import valkey

CHANNEL = "live"
log = logging.getLogger(__name__)


def publish(run_key: str, *, step: int | None, what: Sequence[str]) -> None:
    """Tell open pages that `what` of a run changed. A dead Valkey costs freshness only."""
    _publish({"run": run_key, "step": step, "what": sorted(set(what))})


def publish_ended(person_id: int) -> None:
    """Tell the streams of a person to look at their session again, now."""
    _publish({"person": person_id})


def _publish(message: dict[str, Any]) -> None:
    try:
        valkey.client().publish(CHANNEL, orjson.dumps(message))
    except redis.RedisError:
        log.warning("live.publish_failed", extra=message)
