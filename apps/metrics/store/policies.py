"""The thresholds that projects have moved."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.core.revisions import save_revision
from apps.core.sql import query
from apps.metrics.models import ProjectPolicy

_COLUMNS = "p.values, p.version, p.changed_at_ns, p.changed_by"


@dataclass(frozen=True, slots=True)
class MovedThresholds:
    """values: slug -> number, only what differs from the defaults. version: grows with each
    change, 0 before the first."""

    values: Mapping[str, float] = field(default_factory=dict)
    version: int = 0
    changed_at_ns: int = 0
    changed_by: str = ""


def thresholds_of_run(run_id: int) -> MovedThresholds:
    """Of the run's project. One statement. -- uses the primary keys of runs and thresholds"""
    sql = (
        f"SELECT {_COLUMNS} FROM runs_run r JOIN metrics_projectpolicy p USING (project)"  # noqa: S608
        " WHERE r.id = %s"
    )
    return _moved(query(sql, [run_id]))


def thresholds_of(project: str) -> MovedThresholds:
    """Of a project. -- uses the primary key"""
    sql = f"SELECT {_COLUMNS} FROM metrics_projectpolicy p WHERE p.project = %s"  # noqa: S608
    return _moved(query(sql, [project]))


def _moved(rows: Sequence[tuple[Any, ...]]) -> MovedThresholds:
    if not rows:
        return MovedThresholds()
    values, version, changed_at_ns, changed_by = rows[0]
    return MovedThresholds(json.loads(values), version, changed_at_ns, changed_by)


def save_thresholds(project: str, moved: MovedThresholds) -> bool:
    """Stores version n over version n - 1; False if somebody else has stored one meanwhile."""
    values = {
        "values": dict(moved.values),
        "version": moved.version,
        "changed_at_ns": moved.changed_at_ns,
        "changed_by": moved.changed_by[:200],
    }
    return save_revision(ProjectPolicy, project, values)
