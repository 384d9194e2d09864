"""Which checkpoints are a safe place to go back to, best first, each with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.core.records import Candidate, Evidence
from apps.core.words import many
from apps.rollbacks.domain.cost import lost_gpu_hours, lost_steps, lost_tokens
from apps.rollbacks.domain.lineage import Stretch, contains, past
from apps.rollbacks.domain.margin import NO_MARGIN, Margin, MarginPolicy, margin, save_interval
from apps.rollbacks.domain.offers import Offer, offers
from apps.rollbacks.domain.scene import FAILURE, Fault, SavedCheckpoint, Scene, Tried
from apps.rollbacks.domain.terms import VERIFIED, Yardstick, reasons, sick, terms

_SHOWN_FINDINGS = 3


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    """sick_z: a loss, gradient norm or second moment this far above its own past before the save
    speaks against it. listed: at most so many candidates."""

    margin: MarginPolicy = field(default_factory=MarginPolicy)
    sick_z: float = 5.0
    listed: int = 50


DEFAULT_POLICY = RankingPolicy()


@dataclass(frozen=True, slots=True)
class Excluded:
    """A checkpoint that is no candidate at all, and why."""

    step: int
    attempt: int
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """candidates: eligible ones best first, then the others newest first, each with its reason.
    excluded: those after the onset and those of other branches, newest first. margin: that was
    asked for. offers: the three to look at first."""

    candidates: tuple[Candidate, ...]
    excluded: tuple[Excluded, ...]
    margin: Margin = NO_MARGIN
    offers: tuple[Offer, ...] = ()


def rank(scene: Scene, policy: RankingPolicy = DEFAULT_POLICY) -> Ranking:
    """The checkpoints of a run as places to roll back to.

    Never a candidate: saved at or after the onset (the same step counts as after, unless the save
    was finished before it), or not in the past of the faulty attempt. Listed but not eligible:
    inside the margin, incomplete, failed verification, deleted or about to be, overwritten by a
    later save into the same directory, tried before and relapsed, newer than one of those, or never
    loaded by the attempts that began from it. Among the eligible: those without a sign of illness
    first, of those the newest, since what is only committed is looked at when it is chosen; of one
    step the verified one. Moving the onset earlier never makes a checkpoint eligible. O(n log n).
    """
    history = past(scene.branches, scene.fault.attempt)
    newest_first = sorted(scene.checkpoints, key=lambda c: (-c.step, -c.attempt))
    by = _yardstick(scene, history, policy)
    overwritten = _overwritten(scene.checkpoints)
    bases = _bases(scene.fault, [c.step for c in newest_first])
    eligible: list[SavedCheckpoint] = []
    others: list[Candidate] = []
    excluded: list[Excluded] = []
    for checkpoint in newest_first:
        reason = _outside(checkpoint, scene.fault, history)
        if reason:
            place = (checkpoint.step, checkpoint.attempt, checkpoint.path)
            excluded.append(Excluded(*place, reason))
            continue
        against = (*_tried(checkpoint, bases), *_against(checkpoint, by, overwritten))
        if against:
            others.append(_candidate(checkpoint, by, against))
        else:
            eligible.append(checkpoint)
    best_first = sorted(eligible, key=lambda c: _order(c, policy))
    listed = [*(_candidate(c, by, ()) for c in best_first[: policy.listed]), *others]
    return Ranking(
        tuple(listed[: policy.listed]), tuple(excluded), by.margin, offers(eligible, policy.sick_z)
    )


def _yardstick(scene: Scene, history: tuple[Stretch, ...], policy: RankingPolicy) -> Yardstick:
    ours = [c for c in scene.checkpoints if contains(history, c.attempt, c.step)]
    asked = margin(
        scene.fault.kind,
        window_steps=scene.window_steps,
        interval_steps=save_interval([c.step for c in ours if c.complete]),
        policy=policy.margin,
    )
    scores = [(c.step, score) for c in ours for score in c.scores]
    return Yardstick(scene.fault, asked, scene.cost, policy.sick_z, scores)


def _order(checkpoint: SavedCheckpoint, policy: RankingPolicy) -> tuple[bool, int, bool, int]:
    """Sorts the eligible: without a sign of illness, newest, verified."""
    return (
        sick(checkpoint.health, policy.sick_z),
        -checkpoint.step,
        checkpoint.level not in VERIFIED,
        -checkpoint.attempt,
    )


def _outside(checkpoint: SavedCheckpoint, fault: Fault, history: tuple[Stretch, ...]) -> str:
    """Why this checkpoint is no candidate at all; "" if it is one."""
    if not contains(history, checkpoint.attempt, checkpoint.step):
        return f"attempt {checkpoint.attempt} at this step is not in the past of the incident"
    if _before(checkpoint, fault):
        return ""
    if fault.onset_step is None:
        return "saved after the onset"
    if fault.kind == FAILURE:
        return f"saved after the last common step {fault.onset_step}"
    return f"saved at or after the onset (step {fault.onset_step})"


def _before(checkpoint: SavedCheckpoint, fault: Fault) -> bool:
    if fault.onset_step is None:
        return checkpoint.saved_at_ns < fault.onset_time_ns
    if checkpoint.step != fault.onset_step:
        return checkpoint.step < fault.onset_step
    return fault.kind == FAILURE or checkpoint.saved_at_ns < fault.onset_time_ns


def _bases(fault: Fault, steps: Sequence[int]) -> list[tuple[int, Tried]]:
    """The checkpoint step each try started from, the oldest first."""
    found = [
        (max((s for s in steps if s <= tried.from_step), default=tried.from_step), tried)
        for tried in fault.tried
    ]
    return sorted(found, key=lambda row: (row[0], row[1].attempt))


def _tried(checkpoint: SavedCheckpoint, bases: Sequence[tuple[int, Tried]]) -> tuple[Evidence, ...]:
    """What an earlier start says against this checkpoint; () if none started here or earlier."""
    for base, tried in bases:
        if checkpoint.step == base:
            text = f"tried: attempt {tried.attempt} started from it and {tried.words}"
            return (Evidence(text, step=tried.relapsed_step, weight=-1),)
    for base, tried in bases:
        if checkpoint.step > base:
            text = f"newer than step {base:,}, from which attempt {tried.attempt} {tried.words}"
            return (Evidence(text, step=tried.relapsed_step, weight=-1),)
    return ()


def _overwritten(checkpoints: Sequence[SavedCheckpoint]) -> dict[tuple[int, int], SavedCheckpoint]:
    """(attempt, step) -> the later save into the same directory."""
    last: dict[str, SavedCheckpoint] = {}
    for checkpoint in checkpoints:
        known = last.get(checkpoint.path)
        if known is None or checkpoint.saved_at_ns > known.saved_at_ns:
            last[checkpoint.path] = checkpoint
    return {
        (c.attempt, c.step): last[c.path]
        for c in checkpoints
        if last[c.path].saved_at_ns > c.saved_at_ns
    }


def _against(
    checkpoint: SavedCheckpoint,
    by: Yardstick,
    overwritten: dict[tuple[int, int], SavedCheckpoint],
) -> tuple[Evidence, ...]:
    """Why this checkpoint fell out; () if it is eligible."""
    found: list[str] = []
    onset = by.fault.onset_step
    if onset is not None and checkpoint.step > onset - by.margin.steps:
        distance = many(onset - checkpoint.step, "step")
        found.append(
            f"inside the margin: {distance} before the onset, {by.margin.steps} are asked for"
        )
    if checkpoint.leaving:
        found.append(checkpoint.leaving)
    elif not checkpoint.complete:
        damage = "; ".join(checkpoint.findings[:_SHOWN_FINDINGS])
        found.append(f"incomplete or damaged: {damage or 'no commit marker was seen'}")
    later = overwritten.get((checkpoint.attempt, checkpoint.step))
    if later is not None:
        found.append(f"overwritten: attempt {later.attempt} saved into the same directory")
    found += _never_loaded(checkpoint)
    return tuple(Evidence(text, step=checkpoint.step, weight=-1) for text in found)


def _never_loaded(checkpoint: SavedCheckpoint) -> list[str]:
    """An earlier start that never logged a step, if no later one did."""
    if not checkpoint.begun or any(begun.loaded for begun in checkpoint.begun):
        return []
    last = max(begun.attempt for begun in checkpoint.begun)
    return [f"a restore from it failed: attempt {last} began from it and never logged a step"]


def _candidate(
    checkpoint: SavedCheckpoint, by: Yardstick, against: tuple[Evidence, ...]
) -> Candidate:
    found = terms(checkpoint, by)
    return Candidate(
        step=checkpoint.step,
        attempt=checkpoint.attempt,
        path=checkpoint.path,
        eligible=not against,
        level=checkpoint.level,
        reasons=(*against, *reasons(found)),
        lost_steps=lost_steps(by.cost, checkpoint.step),
        lost_gpu_hours=lost_gpu_hours(by.cost, checkpoint.step),
        saved_at_ns=checkpoint.saved_at_ns,
        size_bytes=checkpoint.size_bytes,
        terms=found,
        lost_tokens=lost_tokens(by.cost, checkpoint.step),
        restore_s=None if checkpoint.restore is None else checkpoint.restore.seconds,
    )
