"""Lists of runs that people gave names."""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.sql import execute, query
from apps.runs.models import SavedView

MAX_VIEWS = 20
"""Of one person."""


@dataclass(frozen=True, slots=True)
class View:
    """A name and the query of an address, "show=running&owner=ada"."""

    name: str
    query: str


def views(person: str) -> list[View]:
    """What a person saved, by name. -- uses the primary key"""
    sql = "SELECT name, query FROM runs_savedview WHERE person = %s ORDER BY name LIMIT %s"
    return [View(*row) for row in query(sql, [person, MAX_VIEWS])]


def get(person: str, name: str) -> View | None:
    """One view. -- uses the primary key"""
    row = SavedView.objects.filter(person=person, name=name).first()
    return View(row.name, row.query) if row else None


def save(person: str, view: View, at_ns: int) -> bool:
    """The view, in place of one of its name; False if there are MAX_VIEWS others."""
    sql = """
        INSERT INTO runs_savedview (person, name, query, saved_at_ns)
        SELECT %s, %s, %s, %s
         WHERE (SELECT count(*) FROM runs_savedview WHERE person = %s AND name <> %s) < %s
        ON CONFLICT (person, name) DO UPDATE
          SET query = EXCLUDED.query, saved_at_ns = EXCLUDED.saved_at_ns
    """
    values = [person, view.name, view.query, at_ns, person, view.name, MAX_VIEWS]
    return execute(sql, values) == 1


def drop(person: str, name: str) -> None:
    """Forgets a view."""
    SavedView.objects.filter(person=person, name=name).delete()
