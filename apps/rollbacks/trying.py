"""A dry run: what an order would do, without doing any of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from apps.accounts.services import require
from apps.checkpoints.looking import Seen, Sight
from apps.core.errors import AppError, NotFound
from apps.rollbacks import asking, choosing, files, policies, resume, store, telling
from apps.rollbacks.choosing import Choice
from apps.rollbacks.domain.branching import plan
from apps.rollbacks.domain.effects import Effect, Facts, effects
from apps.rollbacks.launchers import handing
from apps.rollbacks.records import OrderInfo, RollbackPolicy, RollbackRequest
from apps.runs import store as runs
from apps.runs.records import RunInfo

NOT_YET = Seen(
    Sight.UNKNOWN, "its storage is looked at when you try the order or give it", asked=False
)


@dataclass(frozen=True, slots=True)
class DryRun:
    """refused: why the order would not be given, "" if it would; hint: what to do about it.
    seen: the look at the checkpoint. payload: what launchers would get. second_approver: whether
    another person would have to agree."""

    refused: str
    hint: str
    second_approver: bool
    seen: Seen
    effects: tuple[Effect, ...]
    payload: dict[str, Any]


def dry_run(asked: RollbackRequest, *, look: bool = True) -> DryRun:
    """What the order would do and whether it would be given. Confirmation, reason and key may be
    missing. Nothing is written but what a look at the storage finds, which takes up to
    looking.WAIT_S seconds; without `look` what is known already counts.

    Needs the scope operate. Raises Refused for options that cannot be kept, NotFound for an unknown
    run or checkpoint.
    """
    require(asked.actor, "operate")
    asking.check_options(asked)
    run = runs.get_run(asked.run_key)
    if run is None:
        raise NotFound("no such run", where="run", hint="GET /api/v1/runs lists the runs")
    choice = choosing.choose(run, asked)
    seen = NOT_YET
    if look:
        seen = choosing.look(run.id, choice)
        choice = choosing.choose(run, asked) if seen.asked else choice
    refused = _refusal(run, asked, choice, seen)
    rules = policies.of_run(run.id)
    order = asking.unwritten(run.id, asking.new_order(asked, choice, rules))
    return DryRun(
        refused=refused.message if refused else "",
        hint=refused.hint if refused else "",
        second_approver=rules.second_approver,
        seen=seen,
        effects=foreseen(run, choice, order, rules),
        payload=resume.ordered(order).document["payload"] | {"order": None, "issued_at_ns": None},
    )


def foreseen(
    run: RunInfo, choice: Choice, order: OrderInfo, rules: RollbackPolicy
) -> tuple[Effect, ...]:
    """What an unwritten order would do."""
    active = store.active(run.id)
    facts = Facts(
        run=run.key,
        step=order.step,
        newest_attempt=choice.newest.number,
        proposed=rules.second_approver,
        branch=plan(resume.chosen_by(order), resume.framework(choice.checkpoint)),
        order_file=str(files.path_of(run.key)),
        exclude_nodes=order.exclude_nodes,
        skip_ranges=order.skip_ranges,
        webhook=telling.receiver(),
        launcher=_of_launcher(run, order),
        incident=choice.incident.label if choice.incident else "",
        replaces="" if active is None else f"{active.label} to step {active.step:,}",
        forced=order.forced,
    )
    if choice.candidate is not None:
        cost = choice.candidate
        facts = replace(facts, lost_steps=cost.lost_steps, lost_gpu_hours=cost.lost_gpu_hours)
    return effects(facts)


def _of_launcher(run: RunInfo, order: OrderInfo) -> tuple[str, ...]:
    found, why_not = handing.try_effects(run, order)
    if why_not:
        return (f"the launcher cannot follow it: {why_not}",)
    words = tuple(effect.words for effect in found)
    binding = handing.binding_of(run)
    if binding is None or binding.automatic:
        return words
    return ("nothing is stopped or started before somebody says so on its page; then", *words)


def _refusal(run: RunInfo, asked: RollbackRequest, choice: Choice, seen: Seen) -> AppError | None:
    try:
        choosing.check(choice, force=asked.force)
        choosing.check_seen(choice, seen, force=asked.force)
        choosing.check_free(run.id, supersede=asked.supersede)
    except AppError as error:
        return error
    return None
