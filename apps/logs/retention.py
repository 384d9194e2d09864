"""Use cases of retention: what a project keeps, what that deletes, and deleting it."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import AppError, Conflict, NotFound
from apps.core.times import ns_of
from apps.logs.domain.chunk.retention import HeldLogs, KeepRule, Plan, plan
from apps.logs.store import expiring
from apps.logs.store.expiring import SaidRule, Stored
from apps.runs import store as runs
from apps.runs.records import RunInfo

log = logging.getLogger(__name__)
MAX_DAYS = 36_500
MAX_BYTES = 1 << 60

Attempts = Collection[tuple[int, int]]
"""(run id, attempt)"""


@dataclass(frozen=True, slots=True)
class ProjectLogs:
    """What a project holds now. said: the rule that it is judged by, and who said it."""

    project: str
    said: SaidRule
    held: tuple[HeldLogs, ...]

    @property
    def size_bytes(self) -> int:
        """Packed bytes of all its lines."""
        return sum(one.size_bytes for one in self.held)


def rule_of(project: str) -> SaidRule:
    """What counts for a project: its own rule, else that of the settings."""
    return expiring.said_rule(project) or SaidRule(default_rule())


def default_rule() -> KeepRule:
    """KEEP_LOGS_DAYS and LOGS_PROJECT_BYTES, 0 = no limit."""
    return KeepRule(settings.KEEP_LOGS_DAYS or None, settings.LOGS_PROJECT_BYTES or None)


def set_rule(
    project: str, rule: KeepRule | None, *, actor: Actor, seen_ns: int, reason: str, now_ns: int
) -> None:
    """Says how much a project keeps; None: what the settings say. Needs the scope operate. Audited.

    seen_ns: changed_at_ns of the rule that the person saw; Conflict if it is not that any more.
    """
    require(actor, "operate")
    if rule is not None:
        check(rule)
    with transaction.atomic():
        before = rule_of(project)
        if before.changed_at_ns != seen_ns:
            hint = "read it again, then decide"
            raise Conflict(f"{before.changed_by or 'somebody'} changed the rule", hint=hint)
        expiring.save_rule(project, rule, actor.name, now_ns)
        audit(
            actor,
            "log_retention.changed",
            f"project {project or '-'}",
            before=_told(before.rule),
            after=_told(rule or default_rule()),
            reason=reason,
        )


def check(rule: KeepRule) -> None:
    """Raises AppError for a rule that would delete everything, or is beyond all sense."""
    if rule.days is not None and not 1 <= rule.days <= MAX_DAYS:
        raise AppError(f"keep 1 to {MAX_DAYS} days, or leave it empty", where="days")
    if rule.most_bytes is not None and not 1 <= rule.most_bytes <= MAX_BYTES:
        raise AppError("keep at least one byte, or leave it empty", where="most_bytes")


def _told(rule: KeepRule) -> dict[str, int | None]:
    return {"days": rule.days, "most_bytes": rule.most_bytes}


def pin(
    run: RunInfo, attempt: int, *, pinned: bool, actor: Actor, reason: str, now_ns: int
) -> bool:
    """Keeps an attempt whatever the rule says, or no longer; whether that is new. Audited."""
    require(actor, "operate")
    if runs.attempt(run.id, attempt) is None:
        raise NotFound(f"run {run.key} has no attempt {attempt}", where="attempt")
    with transaction.atomic():
        changed = expiring.save_pin(run.id, attempt, actor.name, now_ns, pinned=pinned)
        if changed:
            verb = "pinned" if pinned else "unpinned"
            audit(actor, f"logs.{verb}", f"attempt {attempt}", run_id=run.id, reason=reason)
    return changed


def project_logs(
    project: str, in_incident: Attempts, now_ns: int, rule: KeepRule | None = None
) -> ProjectLogs:
    """What a project holds, judged by its rule or by one that is only tried.

    in_incident: attempts with an open incident.
    """
    said = rule_of(project) if rule is None else SaidRule(rule)
    held = tuple(_held(project, said.rule.cutoff_ns(now_ns), in_incident))
    return ProjectLogs(project, said, held)


def preview(project: str, in_incident: Attempts, now_ns: int, rule: KeepRule | None = None) -> Plan:
    """What the rule of a project, or one that is only tried, would delete now."""
    logs = project_logs(project, in_incident, now_ns, rule)
    return plan(logs.held, logs.said.rule, now_ns)


def _held(project: str, cutoff_ns: int | None, in_incident: Attempts) -> Iterator[HeldLogs]:
    after = 0
    while page := runs.project_runs(project, after):
        known = {run.id: run for run in page}
        newest = runs.newest_attempts(known)
        pinned = expiring.pins(list(known))
        for one in expiring.stored(list(known), cutoff_ns):
            last = one.run_id not in newest or one.attempt >= newest[one.run_id].number
            place = one.run_id, one.attempt
            kept = "open incident" if place in in_incident else "pinned" if place in pinned else ""
            yield _judged(one, known[one.run_id], kept, last=last)
        after = page[-1].id


def _judged(one: Stored, run: RunInfo, kept: str, *, last: bool) -> HeldLogs:
    made_ns = ns_of(run.created_at)
    return HeldLogs(
        run_id=one.run_id,
        attempt=one.attempt,
        made_ns=made_ns,
        heard_ns=made_ns if run.contact_ns is None else run.contact_ns,
        last=last,
        last_ns=one.last_ns,
        lines=one.lines,
        size_bytes=one.size_bytes,
        old_lines=one.old_lines,
        old_bytes=one.old_bytes,
        kept=kept,
    )


def expire(in_incident: Attempts, now_ns: int, budget_s: float) -> Counter[int]:
    """Deletes what the rules of all projects say, for budget_s at most: run id -> lines.

    Stopped by time or by a kill it goes on with the next call.
    """
    end = time.monotonic() + budget_s
    gone: Counter[int] = Counter()
    for project, _ in runs.projects():
        if rule_of(project).rule == KeepRule():
            continue
        for cut in preview(project, in_incident, now_ns).cuts:
            for lines, size in expiring.carry_out(cut, now_ns):
                gone[cut.run_id] += lines
                extra = {"run": cut.run_id, "attempt": cut.attempt, "lines": lines, "bytes": size}
                log.info("logs.expired", extra=extra)
                if time.monotonic() > end:
                    return gone
    return gone
