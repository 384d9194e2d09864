"""Every statement against the rules of projects for rollbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.core.revisions import save_revision
from apps.core.sql import query
from apps.rollbacks.models import ProjectRules
from apps.rollbacks.records import RollbackPolicy

_COLUMNS = "p.margin_steps, p.second_approver, p.version, p.changed_at_ns, p.changed_by"


def of_run(run_id: int) -> RollbackPolicy:
    """Of the run's project. One statement. -- uses the primary keys of runs and rules"""
    sql = (
        f"SELECT {_COLUMNS} FROM runs_run r JOIN rollbacks_projectrules p USING (project)"  # noqa: S608
        " WHERE r.id = %s"
    )
    return _policy(query(sql, [run_id]))


def of_project(project: str) -> RollbackPolicy:
    """Of a project. -- uses the primary key"""
    sql = f"SELECT {_COLUMNS} FROM rollbacks_projectrules p WHERE p.project = %s"  # noqa: S608
    return _policy(query(sql, [project]))


def _policy(rows: Sequence[tuple[Any, ...]]) -> RollbackPolicy:
    return RollbackPolicy(*rows[0]) if rows else RollbackPolicy()


def save(project: str, policy: RollbackPolicy) -> bool:
    """Stores version n over version n - 1; False if somebody else has stored one meanwhile."""
    values = {name: getattr(policy, name) for name in RollbackPolicy.__dataclass_fields__}
    return save_revision(ProjectRules, project, values)
