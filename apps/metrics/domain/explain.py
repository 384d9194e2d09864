"""Whether a shift of the loss is one that somebody wanted: it is recorded then, and pages nobody.

A change explains a shift, not a divergence: what keeps growing, or takes back most of what was
learnt, needs a person whatever was planned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from apps.metrics.domain.context import COUNTS, Change, Scene
from apps.metrics.domain.planned import PlannedChange


@dataclass(frozen=True, slots=True)
class ExplainPolicy:
    """How large a shift each change explains.

    sum_tolerance: |ln| between the ratio of the loss and that of the batch, for a loss summed over
    it. excess: of the level, for a mean loss after another batch or sequence length. rate_share,
    data_share, plan_share, warm_up_share: of all that was learnt so far; data_share_at_once: of a
    shift that is largest in its first rows (growth below at_once_growth). growth: the last rows
    over the first ones, asked where the shift takes back `growth_share`. slow_rows: how long before
    a slow rise a change may lie. flat, round_*, grad_*: see `factor_of_sum`.

    Source: small trainings of `bench spikes` (the half with even numbers): plans stay below half of
    each share; explosions inside warm-up take back more than half of what was learnt.
    """

    sum_tolerance: float = 0.25
    excess: float = 0.5
    rate_share: float = 0.3
    data_share: float = 1.2
    data_share_at_once: float = 5.0
    at_once_growth: float = 1.1
    plan_share: float = 1.5
    warm_up_share: float = 0.35
    growth: float = 1.5
    growth_share: float = 0.25
    slow_rows: int = 250
    round_tolerance: float = 0.06
    flat: float = 1.6
    grad_low: float = 0.85
    grad_high: float = 1.4


@dataclass(frozen=True, slots=True)
class Shift:
    """A shift of the loss. ratio: new level over old, None if either is not above 0. excess: of
    what there is to lose. share: of what was learnt. growth: last rows over first rows.
    spread: furthest row over nearest."""

    step: int
    ratio: float | None
    excess: float
    share: float
    growth: float
    spread: float = 1.0
    upwards: bool = True


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a shift is wanted, in words. source: as in PlannedChange. unit: the loss is measured in
    another unit now, as a sum over a larger batch is."""

    text: str
    source: str
    unit: bool = False


WARM_UP = Reason("the learning rate is still warming up", "logged")
REWARMED = Reason("the schedule has raised the learning rate again", "logged")


def reason(
    shift: Shift,
    changes: Iterable[Change],
    planned: Iterable[PlannedChange],
    policy: ExplainPolicy,
) -> Reason | None:
    """What explains the shift, None if nothing does. changes: logged ones that are near enough."""
    near = list(changes)
    counted = next((change for change in near if _by_count(shift, change, policy)), None)
    if counted is not None:
        unit = shift.ratio is not None and _summed(shift.ratio, counted, policy)
        return Reason(counted.text, "logged", unit)
    if shift.growth > policy.growth and shift.share > policy.growth_share:
        return None
    other = next((change for change in near if _by_other(shift, change, policy)), None)
    if other is not None:
        return Reason(other.text, "logged")
    return _by_plan(shift, planned, policy)


def slow_reason(shift: Shift, scene: Scene, policy: ExplainPolicy) -> Reason | None:
    """What explains a slow rise of the loss."""
    context, share = scene.context, shift.share
    if context.warming_up(scene.row):
        return WARM_UP if share < policy.warm_up_share else None
    if context.rewarmed() and share < policy.rate_share:
        return REWARMED
    recent = [c for c in context.state.changes if c.row > scene.row - policy.slow_rows]
    changes = [*reversed(recent), *context.drifted(scene.row)]
    return reason(shift, changes, scene.planned, policy)


def gradient_reason(ratio: float, scene: Scene, policy: ExplainPolicy) -> Reason | None:
    """What explains a gradient norm of `ratio` times its usual value."""
    for change in scene.context.near(scene.row):
        counted = change.series in COUNTS and change.before > 0
        if counted and ratio < policy.grad_high * change.after / change.before:
            return Reason(change.text, "logged")
    return None


def _by_plan(
    shift: Shift, planned: Iterable[PlannedChange], policy: ExplainPolicy
) -> Reason | None:
    told = [plan for plan in planned if plan.covers(shift.step)]
    for plan in sorted(told, key=lambda plan: -plan.from_step):
        share = policy.warm_up_share if plan.kind == "warm_up" else policy.plan_share
        if shift.share < share:
            return Reason(plan.words, plan.source)
    return None


def factor_of_sum(shift: Shift, grad_ratio: float, policy: ExplainPolicy) -> float | None:
    """The round factor by which a loss changed from one row to the next, None if it did not.

    The mark of a loss that is a sum over the batch, when nobody logs the batch: it stays at 2, 3,
    4, 6, 8 or 16 times what it was, or at the inverse. The gradient norm of a sum changes by a
    factor between its root (noise) and itself (signal). grad_ratio: how many times its usual value
    it is; 0.0: not logged. Then nothing tells a sum from an explosion, which must page.
    """
    if shift.ratio is None or shift.spread > policy.flat or grad_ratio <= 0:
        return None
    up = max(shift.ratio, 1 / shift.ratio)
    nearest = min(ROUND, key=lambda r: abs(math.log(up / r)))
    if abs(math.log(up / nearest)) > policy.round_tolerance:
        return None
    grads = grad_ratio if shift.ratio > 1 else 1 / grad_ratio
    if not policy.grad_low * math.sqrt(nearest) < grads < policy.grad_high * nearest:
        return None
    return nearest if shift.ratio > 1 else 1 / nearest


ROUND = (2.0, 3.0, 4.0, 6.0, 8.0, 16.0)


def _by_count(shift: Shift, change: Change, policy: ExplainPolicy) -> bool:
    if change.series not in COUNTS or change.before <= 0 or change.after <= 0:
        return False
    if shift.ratio is not None and _summed(shift.ratio, change, policy):
        return True
    return shift.excess < policy.excess


def _summed(ratio: float, change: Change, policy: ExplainPolicy) -> bool:
    expected = math.log(change.after) - math.log(change.before)
    return abs(math.log(ratio) - expected) < policy.sum_tolerance


def _by_other(shift: Shift, change: Change, policy: ExplainPolicy) -> bool:
    if change.series == "data_mixture":
        at_once = shift.growth <= policy.at_once_growth
        return shift.share < (policy.data_share_at_once if at_once else policy.data_share)
    wanted = change.series == "lr" and not change.beyond
    return wanted and (shift.share < policy.rate_share or not shift.upwards)
