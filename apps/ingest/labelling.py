"""The rules for the labels of a project: looked up by the doors, changed by people, tried out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import Conflict
from apps.ingest import labels_store as store
from apps.ingest.label_rules import OwnRule, checked
from apps.ingest.label_rules import rules_of as as_table_rows
from apps.ingest.labels import DEFAULT, Table
from apps.ingest.labels_store import LabelsSeen, ProjectRules

CACHE_S = 10.0
"""How long a changed rule takes to reach every process."""
MAX_CACHED = 1_000
_tables: dict[str, tuple[float, Table]] = {}


@dataclass(frozen=True, slots=True)
class Read:
    """Labels that were seen, and what the rules make of them. rest: nobody understands them."""

    seen: LabelsSeen
    fields: dict[str, Any]
    rest: dict[str, Any]
    odd: tuple[str, ...]


def table_of(project: str) -> Table:
    """The rules of a project before the built-in ones, remembered for CACHE_S seconds."""
    now = time.monotonic()
    hit = _tables.get(project)
    if hit is not None and hit[0] > now:
        return hit[1]
    table = table_with(store.rules_of(project).rules)
    if len(_tables) >= MAX_CACHED:
        _tables.clear()
    _tables[project] = (now + CACHE_S, table)
    return table


def table_with(rules: Sequence[OwnRule]) -> Table:
    """The table with these rules first."""
    return Table(as_table_rows(rules)) if rules else DEFAULT


def save(
    project: str, rules: Sequence[OwnRule], version: int, actor: Actor, now_ns: int
) -> ProjectRules:
    """Replaces the rules of a project; what is said now. Needs the scope operate.

    version: the one that was looked at; Conflict if it is no longer the newest. AppError for a
    rule that cannot be read.
    """
    require(actor, "operate")
    asked = ProjectRules(checked(rules), version + 1, actor.name[:200], now_ns)
    with transaction.atomic():
        before = store.rules_of(project)
        if before.version != version or not store.save_rules(project, asked):
            raise Conflict(
                f"{before.changed_by or 'somebody'} changed these rules meanwhile",
                hint="look at them again, then repeat your change",
            )
        audit(
            actor,
            "label_rules.changed",
            f"project {project or '-'}",
            before={"rules": _told(before.rules)},
            after={"rules": _told(asked.rules)},
        )
    _tables.pop(project, None)
    return asked


def _told(rules: Sequence[OwnRule]) -> list[str]:
    return [f"{rule.label} = {rule.pattern}" for rule in rules]


def preview(project: str, rules: Sequence[OwnRule], limit: int = 50) -> list[Read]:
    """What these rules make of the labels that came lately. AppError for a rule that is wrong."""
    table = table_with(checked(rules))
    found = []
    for seen in store.seen_labels(project, limit):
        said = table.understand(seen.labels)
        fields = {k: v for k, v in said.fields.items() if k not in ("job", "restart")}
        found.append(Read(seen, fields, said.rest, said.odd))
    return found
