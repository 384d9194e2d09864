"""Which checkpoints are a safe place to go back to, best first, each with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import Candidate, Evidence
from apps.core.words import many, number
from apps.rollbacks.domain.cost import CostBasis, lost_gpu_hours, lost_steps
from apps.rollbacks.domain.lineage import Branch, Stretch, contains, past

FAILURE = "failure"
_WHOLE = frozenset(
    (FAILURE, "no_contact", "throughput_drop", "save_failed", "save_late", "save_slow")
)
"""What leaves the state of the training as it is."""
_SUDDEN = frozenset(
    ("explosion", "level_shift", "nonfinite", "rank_outlier", "loss_drop", "outlier")
)
_LEVELS = ("listed", "committed", "headers_verified")
_SHOWN_FINDINGS = 3


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    """How far before the onset a checkpoint must lie to be trusted, in steps.

    sudden: PaLM restarted about 100 steps before a spike, GLM-130B 50 to 100. slow: the state of
    checkpoints 100 to 250 steps before the loss turned was already damaged (own runs, ramp from
    601); BigScience 104B went back 750 to 1,900. A crash
    or a hang leaves the state whole: no margin. sick_z: a loss this far above its own past before
    the save speaks against it. listed: at most so many candidates.
    """

    sudden_margin_steps: int = 50
    slow_margin_steps: int = 250
    sick_z: float = 5.0
    listed: int = 50


DEFAULT_POLICY = RankingPolicy()


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint as the ranker sees it.

    complete: committed and nothing fatal found. findings: what was found, in words.
    loss_z: robust z of the loss just before the save; None if it was not measured. regressed: the
    evaluations that had got worse before it was saved and were not back, in words.
    """

    attempt: int
    step: int
    path: str
    saved_at_ns: int
    size_bytes: int
    level: str
    complete: bool
    findings: tuple[str, ...] = ()
    loss_z: float | None = None
    regressed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt that started again and relapsed. from_step: the checkpoint it started from, or the
    first step it logged. relapsed_step: None if the losses say it without naming a step."""

    attempt: int
    from_step: int
    relapsed_step: int | None = None

    @property
    def words(self) -> str:
        """ "relapsed at step 1,003"."""
        at = "" if self.relapsed_step is None else f" at step {self.relapsed_step:,}"
        return f"relapsed{at}"


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong, where a rollback starts from.

    onset_step: the earliest moved signal, or the last common step of a failure; None if unknown.
    signal: the series that moved first, in words. tried: starts that did not help.
    """

    kind: str
    attempt: int
    onset_step: int | None
    onset_time_ns: int
    signal: str = ""
    tried: tuple[Tried, ...] = ()


@dataclass(frozen=True, slots=True)
class Excluded:
    """A checkpoint that is no candidate at all, and why."""

    step: int
    attempt: int
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """candidates: eligible ones newest first, then the others newest first, each with its reason.
    excluded: those after the onset and those of other branches, newest first."""

    candidates: tuple[Candidate, ...]
    excluded: tuple[Excluded, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything the ranker looks at."""

    checkpoints: Sequence[SavedCheckpoint]
    fault: Fault
    branches: Sequence[Branch]
    cost: CostBasis


def margin_steps(kind: str, policy: RankingPolicy = DEFAULT_POLICY) -> int:
    """Steps a checkpoint must lie before the onset. An unknown kind is treated as slow."""
    if kind in _WHOLE:
        return 0
    return policy.sudden_margin_steps if kind in _SUDDEN else policy.slow_margin_steps


def rank(scene: Scene, policy: RankingPolicy = DEFAULT_POLICY) -> Ranking:
    """The checkpoints of a run as places to roll back to.

    Never a candidate: saved at or after the onset (the same step counts as after, unless the save
    was finished before it), or not in the past of the faulty attempt. Listed but not eligible:
    inside the margin, incomplete, failed verification, overwritten by a later save into the same
    directory, tried before and relapsed, or newer than one of those.
    Among the eligible the newest is first: safe before cheap, then newest. Moving
    the onset earlier never makes a checkpoint eligible. O(n log n).
    """
    history = past(scene.branches, scene.fault.attempt)
    newest_first = sorted(scene.checkpoints, key=lambda c: (-c.step, -c.attempt))
    overwritten = _overwritten(scene.checkpoints)
    bases = _bases(scene.fault, [c.step for c in newest_first])
    eligible: list[Candidate] = []
    others: list[Candidate] = []
    excluded: list[Excluded] = []
    for checkpoint in newest_first:
        reason = _outside(checkpoint, scene.fault, history)
        if reason:
            place = (checkpoint.step, checkpoint.attempt, checkpoint.path)
            excluded.append(Excluded(*place, reason))
            continue
        against = (
            *_tried(checkpoint, bases),
            *_against(checkpoint, scene.fault, overwritten, policy),
        )
        candidate = _candidate(checkpoint, scene, against, policy)
        (eligible if candidate.eligible else others).append(candidate)
    return Ranking(tuple([*eligible, *others][: policy.listed]), tuple(excluded))


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
    fault: Fault,
    overwritten: dict[tuple[int, int], SavedCheckpoint],
    policy: RankingPolicy,
) -> tuple[Evidence, ...]:
    """Why this checkpoint fell out; () if it is eligible."""
    reasons: list[str] = []
    margin = margin_steps(fault.kind, policy)
    if fault.onset_step is not None and checkpoint.step > fault.onset_step - margin:
        distance = fault.onset_step - checkpoint.step
        reasons.append(
            f"inside the margin: {many(distance, 'step')} before the onset, {margin} are asked for"
        )
    if not checkpoint.complete:
        found = "; ".join(checkpoint.findings[:_SHOWN_FINDINGS])
        reasons.append(f"incomplete or damaged: {found or 'no commit marker was seen'}")
    later = overwritten.get((checkpoint.attempt, checkpoint.step))
    if later is not None:
        reasons.append(f"overwritten: attempt {later.attempt} saved into the same directory")
    return tuple(Evidence(text, step=checkpoint.step, weight=-1) for text in reasons)


def _candidate(
    checkpoint: SavedCheckpoint,
    scene: Scene,
    against: tuple[Evidence, ...],
    policy: RankingPolicy,
) -> Candidate:
    reasons = (
        *against,
        *_distance(checkpoint, scene.fault, policy),
        _level(checkpoint),
        *_health(checkpoint, policy),
        *(Evidence(text, step=checkpoint.step, weight=-1) for text in checkpoint.regressed),
        *_warnings(checkpoint),
        _price(checkpoint, scene.cost),
    )
    return Candidate(
        step=checkpoint.step,
        attempt=checkpoint.attempt,
        path=checkpoint.path,
        eligible=not against,
        level=checkpoint.level,
        reasons=reasons,
        lost_steps=lost_steps(scene.cost, checkpoint.step),
        lost_gpu_hours=lost_gpu_hours(scene.cost, checkpoint.step),
        saved_at_ns=checkpoint.saved_at_ns,
        size_bytes=checkpoint.size_bytes,
    )


def _distance(
    checkpoint: SavedCheckpoint, fault: Fault, policy: RankingPolicy
) -> tuple[Evidence, ...]:
    if fault.onset_step is None:
        return (Evidence("saved before the onset, whose step is unknown: look at older ones too"),)
    distance = fault.onset_step - checkpoint.step
    if distance < margin_steps(fault.kind, policy):
        return ()
    if fault.kind == FAILURE:
        text = f"{many(distance, 'step')} before the last common step {fault.onset_step}"
        return (Evidence(text, step=fault.onset_step),)
    moved = f", where {fault.signal} moved first" if fault.signal else ""
    text = f"{many(distance, 'step')} before the onset (step {fault.onset_step}{moved})"
    return (Evidence(text, step=fault.onset_step),)


def _level(checkpoint: SavedCheckpoint) -> Evidence:
    if checkpoint.level == _LEVELS[2]:
        return Evidence("headers verified: every file that the metadata names has its size")
    if checkpoint.level == _LEVELS[1]:
        return Evidence("committed: the marker that is written last is there", weight=1)
    return Evidence("only listed: no commit marker was seen", weight=-1)


def _health(checkpoint: SavedCheckpoint, policy: RankingPolicy) -> tuple[Evidence, ...]:
    if checkpoint.loss_z is None:
        return ()
    sick = checkpoint.loss_z > policy.sick_z
    word = "high" if sick else "normal"
    text = f"loss {word} before the save (robust z {checkpoint.loss_z:+.1f})"
    return (Evidence(text, step=checkpoint.step, weight=-1 if sick else 1),)


def _warnings(checkpoint: SavedCheckpoint) -> tuple[Evidence, ...]:
    if not checkpoint.complete:
        return ()
    return tuple(Evidence(text, weight=-1) for text in checkpoint.findings[:_SHOWN_FINDINGS])


def _price(checkpoint: SavedCheckpoint, cost: CostBasis) -> Evidence:
    steps = lost_steps(cost, checkpoint.step)
    hours = lost_gpu_hours(cost, checkpoint.step)
    spent = "an unknown number of GPU-hours" if hours is None else f"{number(hours)} GPU-hours"
    return Evidence(f"{many(steps, 'step')} would be done again: {spent}", weight=0)
