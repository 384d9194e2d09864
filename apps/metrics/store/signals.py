"""The patterns of projects for numbers in the log lines of ranks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from apps.core.revisions import save_revision
from apps.core.sql import query
from apps.metrics.domain.signal_patterns import SignalRules, rules_of
from apps.metrics.models import ProjectSignals

_COLUMNS = "s.patterns, s.version, s.changed_at_ns, s.changed_by"


def signal_rules_of_run(run_id: int) -> SignalRules:
    """Of the run's project. -- uses the primary keys of runs and signals"""
    sql = (
        f"SELECT {_COLUMNS} FROM runs_run r JOIN metrics_projectsignals s USING (project)"  # noqa: S608
        " WHERE r.id = %s"
    )
    return _rules(query(sql, [run_id]))


def signal_rules_of(project: str) -> SignalRules:
    """Of a project. -- uses the primary key"""
    sql = f"SELECT {_COLUMNS} FROM metrics_projectsignals s WHERE s.project = %s"  # noqa: S608
    return _rules(query(sql, [project]))


def save_signal_rules(project: str, rules: SignalRules) -> bool:
    """Stores version n over version n - 1; False if somebody else has stored one meanwhile."""
    values = {
        "patterns": list(rules.patterns),
        "version": rules.version,
        "changed_at_ns": rules.changed_at_ns,
        "changed_by": rules.changed_by[:200],
    }
    return save_revision(ProjectSignals, project, values)


def _rules(rows: Sequence[tuple[Any, ...]]) -> SignalRules:
    if not rows:
        return SignalRules()
    patterns, version, changed_at_ns, changed_by = rows[0]
    return rules_of(json.loads(patterns), version, changed_at_ns, changed_by)
