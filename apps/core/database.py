"""A postgresql:// address as Django wants it."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit


def from_url(url: str) -> dict[str, Any]:
    """Django's database settings for `url`."""
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "lastgood",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or 5432),
        "CONN_MAX_AGE": 300,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 10},
    }


def use(url: str) -> None:
    """Points this process at another database, for benches and tests on servers of their own."""
    from django.db import connections

    connections["default"].close()
    connections.databases["default"].update(from_url(url))
    connections["default"].settings_dict.update(connections.databases["default"])
