"""The address of Postgres as Django wants it, and what its absence looks like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError

from apps.core.errors import AppError

SERVER_TROUBLE: Final = (OperationalError, InterfaceError, InternalError)
"""The server is away, full, read-only or ended the statement: not the fault of what is written.
Except for `is_too_much`."""


def is_too_much(error: Exception) -> bool:
    """Whether what is written is beyond a limit of Postgres (class 54: a key too long for an index,
    too many columns ...). It comes as an OperationalError, but waiting does not help."""
    return isinstance(error, SERVER_TROUBLE) and _state(error).startswith("54")


def is_trouble(error: Exception) -> bool:
    """Whether waiting may help: the server is away, or its schema is older than this code."""
    return lacks_schema(error) or (isinstance(error, SERVER_TROUBLE) and not is_too_much(error))


_SCHEMA_STATES: Final = frozenset({"3F000", "42P01", "42P10", "42703", "42704", "42883"})
"""No such schema, table, unique key of an ON CONFLICT, column, sequence or type, function.
Values are parameters of a statement: none of them can cause these."""


def lacks_schema(error: Exception) -> bool:
    """Whether a statement names what this database does not have: it waits for `migrate`."""
    return isinstance(error, ProgrammingError) and _state(error) in _SCHEMA_STATES


class SchemaBehind(OperationalError):
    """The database is older than this code. One of SERVER_TROUBLE: it passes with `migrate`."""


@contextmanager
def schema_as_trouble() -> Iterator[None]:
    """Raises SchemaBehind where a statement found the schema too old."""
    try:
        yield
    except ProgrammingError as error:
        if not lacks_schema(error):
            raise
        raise SchemaBehind(f"run manage.py migrate: {error}") from error


@lru_cache(maxsize=1)
def _newest_migrations() -> frozenset[tuple[str, str]]:
    from django.db.migrations.loader import MigrationLoader

    return frozenset(MigrationLoader(None).graph.leaf_nodes())


def migrations_missing() -> list[str]:
    """The newest migration of each app that this database has not seen: "ingest.0005_x"."""
    from django.db import connection
    from django.db.migrations.recorder import MigrationRecorder

    missing = _newest_migrations() - set(MigrationRecorder(connection).applied_migrations())
    return sorted(".".join(name) for name in missing)


def _state(error: Exception) -> str:
    """SQLSTATE of an error of Django's, "" if it has none."""
    return getattr(error.__cause__, "sqlstate", None) or ""


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
