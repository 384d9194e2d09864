"""Start-up checks, each with an id and a hint. Those that need a server are tagged `database`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from apps.core import valkey


@register()
def servers_are_known(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """DATABASE_URL and REDIS_URL, given or from a running `make up`."""
    hint = "start `make up` in another terminal, or set DATABASE_URL and REDIS_URL"
    missing = [name for name in ("DATABASE_URL", "REDIS_URL") if not getattr(settings, name)]
    return [
        Warning(f"{name} is not set and no server runs", hint=hint, id="core.W001")
        for name in missing
    ]


@register(Tags.database)
def appends_are_durable(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """The append-only file must be as strict as INGEST_ACK promises."""
    if settings.INGEST_ACK == "commit" or not settings.REDIS_URL:
        return []
    try:
        found = valkey.client().config_get("append*")
    except redis.RedisError as error:
        return [Warning(f"Valkey does not tell its settings: {error}", id="core.W002")]
    wanted = {"always": ("always",), "everysec": ("always", "everysec")}[settings.INGEST_ACK]
    if found.get("appendonly") == "yes" and found.get("appendfsync") in wanted:
        return []
    return [
        Error(
            "Valkey would lose accepted batches: "
            f"appendonly={found.get('appendonly')} appendfsync={found.get('appendfsync')}",
            hint=f"set appendonly yes and appendfsync {settings.INGEST_ACK}, or INGEST_ACK=commit",
            id="core.E001",
        )
    ]
