"""The connection to Valkey (or Redis), one pool a process."""

from __future__ import annotations

from functools import lru_cache

import redis
from django.conf import settings

READ_BYTES = 1 << 20
"""Taken from the socket at once: in pieces of 64 KiB (usual) a body costs half as much again."""


@lru_cache(maxsize=4)
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, socket_timeout=30, health_check_interval=15, socket_read_size=READ_BYTES
    )


def client() -> redis.Redis:
    """The shared client. Thread safe; reconnects by itself. Raises redis.RedisError without an
    address: to callers that is a server that is away."""
    if not settings.REDIS_URL:
        raise redis.ConnectionError("REDIS_URL is not set")
    return _client(settings.REDIS_URL)
