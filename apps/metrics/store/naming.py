"""What people said about the names of a project."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from apps.core.revisions import save_revision
from apps.core.sql import execute, query
from apps.metrics.domain.layer_rules import Rule
from apps.metrics.domain.naming import Naming
from apps.metrics.models import ProjectNames

_COLUMNS = "n.roles, n.rules, n.version, n.changed_at_ns, n.changed_by"


def naming_of_run(run_id: int) -> Naming:
    """Of the run's project. One statement. -- uses the primary keys of runs and project names"""
    sql = (
        f"SELECT {_COLUMNS} FROM runs_run r JOIN metrics_projectnames n USING (project)"  # noqa: S608
        " WHERE r.id = %s"
    )
    return _naming(query(sql, [run_id]))


def naming_of(project: str, *, lock: bool = False) -> Naming:
    """Of a project; lock: until the transaction ends. -- uses the primary key"""
    sql = f"SELECT {_COLUMNS} FROM metrics_projectnames n WHERE n.project = %s"  # noqa: S608
    return _naming(query(sql + (" FOR UPDATE" if lock else ""), [project]))


def _naming(rows: Sequence[tuple[Any, ...]]) -> Naming:
    if not rows:
        return Naming()
    roles, rules, version, changed_at_ns, changed_by = rows[0]
    known = tuple(Rule(pattern, statistic) for pattern, statistic in json.loads(rules))
    return Naming(json.loads(roles), known, version, changed_at_ns, changed_by)


def save_naming(project: str, naming: Naming) -> bool:
    """Stores version n over version n - 1; False if somebody else has stored one meanwhile."""
    values = {
        "roles": dict(naming.roles),
        "rules": [[rule.pattern, rule.statistic] for rule in naming.rules],
        "watched": naming.watched(),
        "version": naming.version,
        "changed_at_ns": naming.changed_at_ns,
        "changed_by": naming.changed_by[:200],
    }
    return save_revision(ProjectNames, project, values)


def note_again(run_id: int, attempt: int, from_step: int) -> None:
    """Leaves a note that detectors are to look at an attempt again from a step on."""
    execute(
        "INSERT INTO metrics_fresh (run_id, attempt, fresh_id, first_step, last_step, ranked)"
        " SELECT %s, %s, nextval('metrics_fresh_id'), %s, NULL, ranked"
        "   FROM unnest(ARRAY[false, true]) AS ranked",
        [run_id, attempt, from_step],
    )
