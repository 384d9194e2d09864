"""Statements about labels: the rules of projects, what was seen lately, what was refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apps.core.sql import execute, query
from apps.ingest.label_rules import OwnRule
from apps.ingest.models import LabelRules, Refusal, SeenLabels
from apps.ingest.pushed import Seen
from apps.ingest.store import clean

KEPT_LABELS = 200
SHOWN_CHARS = 200
_NUMBER = re.compile(rb"\d+")


@dataclass(frozen=True, slots=True)
class ProjectRules:
    """The rules of a project. version 0: nobody said anything."""

    rules: tuple[OwnRule, ...] = ()
    version: int = 0
    changed_by: str = ""
    changed_at_ns: int = 0


@dataclass(frozen=True, slots=True)
class LabelsSeen:
    """Labels that came lately. run "": their lines were refused."""

    labels: dict[str, Any]
    run: str
    door: str
    token: str
    seen_at_ns: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Lines that were refused, by whom they came and why."""

    token: str
    door: str
    reason: str
    lines: int
    last_at_ns: int


def rules_of(project: str) -> ProjectRules:
    """What the project says. -- uses the primary key"""
    row = LabelRules.objects.filter(pk=project).first()
    if row is None:
        return ProjectRules()
    rules = tuple(OwnRule(label, pattern) for label, pattern in row.rules)
    return ProjectRules(rules, row.version, row.changed_by, row.changed_at_ns)


def save_rules(project: str, asked: ProjectRules) -> bool:
    """Stores the rules as version asked.version; False if another is the newest meanwhile."""
    sql = """
        INSERT INTO ingest_labelrules (project, version, rules, changed_by, changed_at_ns)
        VALUES (%s, %s, %s, %s, %s)
        ON CONFLICT (project) DO UPDATE SET version = EXCLUDED.version, rules = EXCLUDED.rules,
          changed_by = EXCLUDED.changed_by, changed_at_ns = EXCLUDED.changed_at_ns
        WHERE ingest_labelrules.version = EXCLUDED.version - 1
        RETURNING version
    """
    rules = orjson.dumps([[rule.label, rule.pattern] for rule in asked.rules]).decode()
    row = [project, asked.version, rules, asked.changed_by, asked.changed_at_ns]
    return bool(query(sql, row))


def rule_projects() -> list[str]:
    """Projects that have rules or whose labels were seen, by name, at most 200."""
    sql = """
        SELECT project FROM ingest_labelrules UNION SELECT DISTINCT project FROM ingest_seenlabels
        ORDER BY 1 LIMIT 200
    """
    return [row[0] for row in query(sql, [])]


def digest(seen: Seen) -> str:
    """Names a set of labels and what became of it. Numbers in it make no difference: the ranks of
    a job are seen once."""
    said = orjson.dumps([_shown(seen.labels), seen.run], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(_NUMBER.sub(b"0", said)).hexdigest()


def _shown(labels: Mapping[str, Any]) -> dict[str, str]:
    return {clean(name)[:SHOWN_CHARS]: clean(str(value))[:SHOWN_CHARS] for name, value in
            labels.items()}  # fmt: skip


def note_labels(project: str, door: str, token: str, now_ns: int, seen: Mapping[str, Seen]) -> None:
    """Keeps labels by their digest, the newest KEPT_LABELS of a project."""
    sql = """
        INSERT INTO ingest_seenlabels (project, digest, labels, run, door, token, seen_at_ns)
        SELECT %s, n.digest, n.labels::jsonb, n.run, %s, %s, %s
          FROM unnest(%s::text[], %s::text[], %s::text[]) AS n (digest, labels, run)
        ON CONFLICT (project, digest) DO UPDATE SET seen_at_ns = EXCLUDED.seen_at_ns
    """
    order = sorted(seen)
    execute(sql, [
        project, door, token[:200], now_ns, order,
        [orjson.dumps(_shown(seen[key].labels)).decode() for key in order],
        [seen[key].run or "" for key in order],
    ])  # fmt: skip
    old = """
        DELETE FROM ingest_seenlabels WHERE project = %s AND digest IN (
          SELECT digest FROM ingest_seenlabels WHERE project = %s
          ORDER BY seen_at_ns DESC OFFSET %s)
    """
    execute(old, [project, project, KEPT_LABELS])


def seen_labels(project: str, limit: int = 50) -> list[LabelsSeen]:
    """Newest first. -- uses ix_seen_labels_newest"""
    rows = SeenLabels.objects.filter(project=project).order_by("-seen_at_ns")[:limit]
    return [LabelsSeen(r.labels, r.run, r.door, r.token, r.seen_at_ns) for r in rows]


def count_refused(
    token_id: int, token: str, door: str, now_ns: int, refused: Mapping[str, int]
) -> None:
    """Adds to what was refused of a token."""
    sql = """
        INSERT INTO ingest_refusal (token_id, token, door, reason, lines, last_at_ns)
        SELECT %s, %s, %s, n.reason, n.lines, %s FROM unnest(%s::text[], %s::int8[])
          AS n (reason, lines)
        ON CONFLICT (token_id, door, reason) DO UPDATE SET token = EXCLUDED.token,
          lines = ingest_refusal.lines + EXCLUDED.lines, last_at_ns = EXCLUDED.last_at_ns
    """
    reasons = sorted(refused)
    lines = [refused[reason] for reason in reasons]
    execute(sql, [token_id, token[:200], door, now_ns, [r[:200] for r in reasons], lines])


def refusals(limit: int = 100) -> Sequence[Refused]:
    """What was refused, newest first."""
    rows = Refusal.objects.order_by("-last_at_ns")[:limit]
    return [Refused(r.token, r.door, r.reason, r.lines, r.last_at_ns) for r in rows]
