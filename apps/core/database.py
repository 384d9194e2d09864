"""The address of Postgres as Django wants it, and what its absence looks like."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from django.db import InterfaceError, InternalError, OperationalError

from apps.core.errors import AppError

SERVER_TROUBLE: Final = (OperationalError, InterfaceError, InternalError)
"""The server is away, full, read-only or ended the statement: not the fault of what is written.
Except for `is_too_much`."""


def is_too_much(error: Exception) -> bool:
    """Whether what is written is beyond a limit of Postgres (class 54: a key too long for an index,
    too many columns ...). It comes as an OperationalError, but waiting does not help."""
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return isinstance(error, SERVER_TROUBLE) and state.startswith("54")


def from_url(url: str) -> dict[str, Any]:
    """Django's database settings for postgresql://user:password@host:port/name?sslmode=require.

    What follows the question mark goes to libpq as it is. Raises AppError for another scheme.
    """
    parts = urlsplit(url)
    if url and parts.scheme not in ("postgresql", "postgres"):
        hint = "postgresql://user:password@host:port/name"
        raise AppError(f'"{parts.scheme}" is not Postgres', where="DATABASE_URL", hint=hint)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "lastgood",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or 5432),
        "CONN_MAX_AGE": 300,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 10, **dict(parse_qsl(parts.query))},
    }


def use(url: str) -> None:
    """Points this process at another database, for benches and tests on servers of their own."""
    from django.db import connections

    connections["default"].close()
    connections.databases["default"].update(from_url(url))
    connections["default"].settings_dict.update(connections.databases["default"])
