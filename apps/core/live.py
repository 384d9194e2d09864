"""Invalidations for open pages: "run X has new data". Never data, never required for truth."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import orjson
import redis

from apps.core import valkey

CHANNEL = "live"
log = logging.getLogger(__name__)


def publish(run_key: str, *, step: int | None, what: Sequence[str]) -> None:
    """Tell open pages that `what` of a run changed. A dead Valkey costs freshness only."""
    message = orjson.dumps({"run": run_key, "step": step, "what": sorted(set(what))})
    try:
        valkey.client().publish(CHANNEL, message)
    except redis.RedisError:
        log.warning("live.publish_failed", extra={"run": run_key})
