"""Use cases of retention: the rules of a run or a project, and what they would keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.checkpoints import evaluations, retention_store, roots_store, store
from apps.checkpoints.domain.retention import Held, Key, Plan, Rules, placings, plan
from apps.checkpoints.domain.saves import habit
from apps.checkpoints.domain.storage_forecast import Day, Rhythm, forecast
from apps.checkpoints.retention_store import PROJECT, Deletions, Lying, SaidRules
from apps.checkpoints.root_records import RootInfo
from apps.checkpoints.storage import places
from apps.core.errors import AppError, Conflict
from apps.core.plain import packed
from apps.runs.records import RunInfo

MAX_COUNT = 100_000
MAX_SPAN_S = 20 * 366 * 86_400
MAX_STEPS = 2**53
RECENT_SAVES = 10
"""The saves whose size and rhythm the forecast goes on with."""

Guards = Mapping[Key, Sequence[str]]
"""(attempt, step) -> why it must stay, in words (apps/rollbacks/keeping.py)."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What rules do to a run. said: the rules that count. tried: the plan is of other ones.

    unknown: kept or dropped checkpoints whose size nobody said. deletions: how far each one is.
    free_bytes: of the file system that the newest one lies on, None if no root tells.
    """

    said: SaidRules
    rules: Rules
    tried: bool
    plan: Plan
    days: tuple[Day, ...]
    rhythm: Rhythm | None
    deletions: Deletions
    unknown: int
    free_bytes: int | None = None


def rules_of(run: RunInfo) -> SaidRules:
    """The rules of a run, else of its project; without any, everything is kept."""
    return retention_store.said(run.project, run.id) or SaidRules(Rules())


def set_rules(
    run: RunInfo,
    asked: SaidRules,
    *,
    actor: Actor,
    seen_ns: int,
    reason: str,
    now_ns: int,
) -> None:
    """Sets the rules of a run or, with `of_project`, of its project. Audited.

    Needs the scope operate; admin where they delete or deleted. seen_ns: changed_at_ns of what the
    person saw; Conflict if it is not that any more. AppError for senseless rules.
    """
    before = rules_of(run)
    require(actor, "admin" if asked.deletes or before.deletes or asked.of_project else "operate")
    check(asked.rules)
    if asked.deletes and asked.rules.keep_all:
        raise AppError("nothing is deleted while no rule is set", where="deletes")
    if asked.of_project and not run.project:
        raise AppError("this run belongs to no project", where="of_project")
    where = PROJECT if asked.of_project else run.id
    with transaction.atomic():
        if rules_of(run).changed_at_ns != seen_ns:
            hint = "read them again, then decide"
            raise Conflict(f"{before.changed_by or 'somebody'} changed the rules", hint=hint)
        said = replace(asked, changed_by=actor.name[:200], changed_at_ns=now_ns)
        retention_store.save_rules(run.project, where, said)
        if asked.of_project:
            retention_store.drop_rules(run.project, run.id)
        audit(
            actor,
            "checkpoint_retention.changed",
            f"project {run.project or '-'}" if asked.of_project else f"run {run.key}",
            run_id=run.id,
            before=_told(before),
            after=_told(said),
            reason=reason,
        )


def check(rules: Rules) -> None:
    """Raises AppError for rules that are beyond all sense, or would leave almost nothing."""
    counts = ("last", "hourly", "daily", "weekly", "monthly", "yearly", "best", "min_kept")
    for name in counts:
        if not 0 <= getattr(rules, name) <= MAX_COUNT:
            raise AppError(f"0 to {MAX_COUNT:,}", where=name)
    for name in ("within_s", "dense_s"):
        if not 0 <= getattr(rules, name) <= MAX_SPAN_S:
            raise AppError("no longer than 20 years", where=name)
    for name in ("every_steps", "unit_steps"):
        if not 0 <= getattr(rules, name) <= MAX_STEPS:
            raise AppError("a number of steps", where=name)
    if rules.dense_s and not rules.unit_steps:
        hint = "give the steps between two saves; they are what its levels count"
        raise AppError("the exponential rule does not know the save interval", where="unit_steps",
                       hint=hint)  # fmt: skip
    if rules.best and not rules.by_age:
        hint = "add one that keeps the newest, or every so many steps"
        raise AppError("this would keep evaluated checkpoints alone", where="best", hint=hint)


def outlook(run: RunInfo, guards: Guards, now_ns: int, tried: Rules | None = None) -> Outlook:
    """What the rules of a run, or rules that are only tried, keep and drop now and for 60 days.

    Reads the newest 10,000 checkpoints; O(checkpoints + simulated saves), some 0.3 s at most.
    """
    said = rules_of(run)
    rules = said.rules if tried is None else tried
    lying = retention_store.lying(run.id)
    held = _held(run.id, lying, guards, rules)
    usual = _rhythm(run.id, lying)
    return Outlook(
        said=said,
        rules=rules,
        tried=tried is not None,
        plan=plan(held, rules, now_ns),
        days=forecast(held, rules, usual, now_ns),
        rhythm=usual,
        deletions=retention_store.deletions(run.id),
        unknown=sum(one.size_bytes is None for one in lying),
        free_bytes=_free_bytes(run),
    )


def _free_bytes(run: RunInfo) -> int | None:
    """What was free at the last look where the newest complete checkpoint lies."""
    newest = store.newest_complete([run.id]).get(run.id)
    if newest is None:
        return None
    try:
        where = places.parse(newest.path)
    except places.BadPlace:
        return None
    looks = (r.last for r in roots_store.of_run(run.id, run.project) if _holds(r, where))
    return next((one.free_bytes for one in looks if one and one.free_bytes is not None), None)


def _holds(root: RootInfo, where: places.Place) -> bool:
    return places.parse(root.rule.uri).holds(where)


def present_plan(run: RunInfo, guards: Guards, now_ns: int) -> Plan:
    """What the rules that count keep and drop now."""
    rules = rules_of(run).rules
    return plan(_held(run.id, retention_store.lying(run.id), guards, rules), rules, now_ns)


def rhythm(run_id: int) -> Rhythm | None:
    """How the newest attempt saves, of its last saves, deleted ones too; None if not known."""
    return _rhythm(run_id, retention_store.lying(run_id))


def _rhythm(run_id: int, lying: Sequence[Lying]) -> Rhythm | None:
    saves = store.newest_saves([run_id]).get(run_id, [])
    usual = habit(saves[-RECENT_SAVES - 1 :])
    sizes = [one.size_bytes for one in lying[:RECENT_SAVES] if one.size_bytes and one.complete]
    if not saves or not sizes or not usual.seconds or not usual.steps:
        return None
    return Rhythm(
        every_s=usual.seconds,
        every_steps=int(usual.steps),
        size_bytes=int(median(sizes)),
        attempt=saves[-1].attempt,
        step=saves[-1].step,
        saved_at_ns=saves[-1].saved_at_ns,
    )


def _held(run_id: int, lying: Sequence[Lying], guards: Guards, rules: Rules) -> list[Held]:
    best = placings(_scored(run_id), max(1, rules.best))
    return [
        Held(
            attempt=one.attempt,
            step=one.step,
            saved_at_ns=one.saved_at_ns,
            size_bytes=one.size_bytes or 0,
            complete=one.complete,
            placings=best.get((one.attempt, one.step), ()),
            guards=tuple(guards.get((one.attempt, one.step), ())),
        )
        for one in lying
    ]


def _scored(run_id: int) -> list[tuple[Key, str, float]]:
    """Each score that says which way is better; the larger the better."""
    return [
        (
            (score.attempt, score.step),
            f"{score.task} {score.metric}",
            score.value if score.higher_is_better else -score.value,
        )
        for scores in evaluations.of_run(run_id).values()
        for score in scores
        if score.higher_is_better is not None
    ]


def _told(said: SaidRules) -> dict[str, object]:
    rules = {name: value for name, value in packed(said.rules).items() if value}
    return {**rules, "deletes": said.deletes, "of_project": said.of_project}
