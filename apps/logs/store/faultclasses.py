"""The fault classes of projects, each revision a row, and the taxonomy that counts for a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from apps.core.sql import execute, query
from apps.logs.domain.triage.classify import Taxonomy, taxonomy
from apps.logs.domain.triage.ownclasses import OwnClasses, class_of
from apps.logs.domain.triage.owntaxonomy import with_own
from apps.logs.models import FaultClasses

MAX_COMPILED = 32
"""Projects whose classes a process keeps ready."""
_COLUMNS = "classes, off, version, changed_at_ns, changed_by, reason, unread_lines"


def taxonomy_of_run(run_id: int) -> Taxonomy:
    """The classes that count for a run. One statement; compiled once a process and revision.

    -- uses the primary keys of runs and fault classes
    """
    sql = """
        SELECT r.project, max(c.version)
          FROM runs_run r JOIN logs_faultclasses c USING (project)
         WHERE r.id = %s GROUP BY r.project
    """
    return next((_compiled(*row) for row in query(sql, [run_id])), taxonomy())


@lru_cache(maxsize=MAX_COMPILED)
def _compiled(project: str, version: int) -> Taxonomy:
    return with_own(taxonomy(), own_classes(project, version))


def own_classes(project: str, version: int | None = None) -> OwnClasses:
    """One revision, or the newest. Nothing, version 0, if there is none. -- uses the primary key"""
    sql = f"""
        SELECT {_COLUMNS} FROM logs_faultclasses
         WHERE project = %s AND (%s::int4 IS NULL OR version = %s) ORDER BY version DESC LIMIT 1
    """  # noqa: S608 - names of this module only
    return next(map(_own, query(sql, [project, version, version])), OwnClasses())


def revisions(project: str, limit: int) -> list[OwnClasses]:
    """The newest revisions, newest first. -- uses the primary key"""
    sql = f"""
        SELECT {_COLUMNS} FROM logs_faultclasses WHERE project = %s ORDER BY version DESC LIMIT %s
    """  # noqa: S608 - names of this module only
    return list(map(_own, query(sql, [project, limit])))


def _own(row: Sequence[Any]) -> OwnClasses:
    classes, off, *rest = row
    return OwnClasses(tuple(map(class_of, json.loads(classes))), tuple(off), *rest)


def add_revision(project: str, own: OwnClasses) -> bool:
    """Stores a revision; False if somebody else has stored one of this version meanwhile."""
    row = FaultClasses(
        project=project,
        version=own.version,
        classes=[asdict(one) for one in own.classes],
        off=list(own.off),
        changed_at_ns=own.changed_at_ns,
        changed_by=own.changed_by[:200],
        reason=own.reason,
    )
    FaultClasses.objects.bulk_create([row], ignore_conflicts=True)
    return own_classes(project, own.version) == own


def add_unread(run_id: int, revision: int, lines: int) -> None:
    """Counts lines that the classes of a project had no time for. -- uses the primary keys"""
    if lines:
        execute(
            "UPDATE logs_faultclasses c SET unread_lines = unread_lines + %s FROM runs_run r"
            " WHERE r.id = %s AND c.project = r.project AND c.version = %s",
            [lines, run_id, revision],
        )
