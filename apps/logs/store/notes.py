"""Single facts about the log store as a whole, one row each."""

from __future__ import annotations

from apps.core.sql import execute, query


def note(name: str, value: str) -> None:
    """Keeps a fact; the last word counts."""
    sql = """
        INSERT INTO logs_note (name, value, at) VALUES (%s, %s, now())
        ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, at = now()
    """
    execute(sql, [name, value])


def noted(name: str) -> str | None:
    """The fact; None if it was never kept. -- uses the primary key"""
    rows = query("SELECT value FROM logs_note WHERE name = %s", [name])
    return rows[0][0] if rows else None


def add_up(name: str, value: int) -> None:
    """Adds to a fact that is a number."""
    if value:
        note(name, str(int(noted(name) or 0) + value))
