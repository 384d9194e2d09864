"""What a candidate is weighed by, term by term, in words. A term that knows nothing says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import Evidence, Term
from apps.core.words import duration, many, number
from apps.rollbacks.domain.cost import CostBasis, lost_gpu_hours, lost_steps, lost_tokens
from apps.rollbacks.domain.margin import Margin
from apps.rollbacks.domain.scene import FAILURE, Evaluated, Fault, Health, SavedCheckpoint

VERIFIED = ("headers_verified", "hash_verified", "restored")
"""Levels from which on every file was compared with what the checkpoint says of itself."""
_LEVELS = {
    "listed": ("only listed: no commit marker was seen", -1),
    "committed": ("committed: the marker that is written last is there", 1),
    "headers_verified": ("headers verified: every file that the metadata names has its size", 1),
    "hash_verified": ("hash verified: every byte was read and is what was written", 1),
    "restored": ("restored: an attempt has loaded it", 1),
}
_CONTEXT = frozenset({"earlier starts", "where it lies", "restore"})
"""Terms that say nothing for or against a checkpoint."""
_SHOWN_FINDINGS = 3
_SHOWN_SCORES = 4
_SHOWN_STARTS = 4


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What every candidate of a scene is measured with. sick_z: more robust standard
    deviations speak against a checkpoint. best: the best value of every evaluation at the same or
    an earlier step."""

    fault: Fault
    margin: Margin
    cost: CostBasis
    sick_z: float
    scores: Sequence[tuple[int, Evaluated]] = ()


def terms(checkpoint: SavedCheckpoint, by: Yardstick) -> tuple[Term, ...]:
    """The terms in the order in which they are shown: the hard ones first, the price last."""
    return (
        _margin(checkpoint, by),
        _verification(checkpoint),
        _health(checkpoint, by.sick_z),
        _evaluation(checkpoint, by.scores),
        _earlier(checkpoint),
        _kept(checkpoint),
        _copies(checkpoint),
        _restore(checkpoint),
        _lost(checkpoint, by.cost),
    )


def reasons(found: Sequence[Term]) -> tuple[Evidence, ...]:
    """What the terms say for and against, and the price."""
    return tuple(e for term in found if term.name not in _CONTEXT for e in term.said)


def sick(health: Health, sick_z: float) -> bool:
    """Whether the training was ill just before the save."""
    return health.worst_z > sick_z or bool(health.nonfinite) or bool(health.open_findings)


def _margin(checkpoint: SavedCheckpoint, by: Yardstick) -> Term:
    fault = by.fault
    if fault.onset_step is None:
        text = "saved before the onset, whose step is unknown: look at older ones too"
        return Term("margin", (Evidence(text),))
    distance = fault.onset_step - checkpoint.step
    if distance < by.margin.steps:
        return Term("margin", silent=f"inside it: {many(by.margin.steps, 'step')} are asked for")
    if fault.kind == FAILURE:
        text = f"{many(distance, 'step')} before the last common step {fault.onset_step}"
        return Term("margin", (Evidence(text, step=fault.onset_step),))
    moved = f", where {fault.signal} moved first" if fault.signal else ""
    text = f"{many(distance, 'step')} before the onset (step {fault.onset_step}{moved})"
    return Term("margin", (Evidence(text, step=fault.onset_step),))


def _verification(checkpoint: SavedCheckpoint) -> Term:
    text, weight = _LEVELS.get(checkpoint.level, (checkpoint.level.replace("_", " "), 0))
    said = [Evidence(text, weight=weight)]
    if checkpoint.optimizer is False:
        text = "weights only: no optimizer state is among its files, the moments would start anew"
        said.append(Evidence(text, weight=-1))
    if checkpoint.complete:
        found = checkpoint.findings[:_SHOWN_FINDINGS]
        said += [Evidence(text, weight=-1) for text in found]
    return Term("verification", tuple(said))


def _health(checkpoint: SavedCheckpoint, sick_z: float) -> Term:
    health, step = checkpoint.health, checkpoint.step
    measured = (
        ("loss", health.loss_z),
        ("gradient norm", health.grad_z),
        ("second moments of the optimizer", health.optimizer_z),
    )
    said = [_z(name, z, sick_z, step) for name, z in measured if z is not None]
    if health.nonfinite:
        text = f"{many(health.nonfinite, 'row')} that {_are(health.nonfinite)} no number before it"
        said.append(Evidence(text, step=step, weight=-1))
    if health.scale_falls:
        text = f"the loss scale fell {many(health.scale_falls, 'time')} before it: skipped steps"
        said.append(Evidence(text, step=step, weight=-1))
    ill = (f"not over when it was saved: {title}" for title in health.open_findings)
    said += [Evidence(text, step=step, weight=-1) for text in ill]
    silent = "" if said else "not measured: fewer than 60 logged rows before the save"
    return Term("health", tuple(said), silent)


def _z(name: str, z: float, sick_z: float, step: int) -> Evidence:
    ill = z > sick_z
    level = "high" if ill else "normal"
    text = f"{name} {level} before the save ({z:+.1f} robust standard deviations)"
    return Evidence(text, step=step, weight=-1 if ill else 1)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _evaluation(checkpoint: SavedCheckpoint, known: Sequence[tuple[int, Evaluated]]) -> Term:
    said = [Evidence(text, step=checkpoint.step, weight=-1) for text in checkpoint.regressed]
    said += [_score(checkpoint, score, known) for score in checkpoint.scores[:_SHOWN_SCORES]]
    return Term("evaluation", tuple(said), "" if said else "nobody evaluated it")


def _score(
    checkpoint: SavedCheckpoint, score: Evaluated, known: Sequence[tuple[int, Evaluated]]
) -> Evidence:
    """A result against the best of the same evaluation at this or an earlier step."""
    if score.higher is None:
        text = f"{score.name} {number(score.value)}; nobody says whether more is better"
        return Evidence(text, step=checkpoint.step, weight=0)
    earlier = [(s, e) for s, e in known if e.name == score.name and s <= checkpoint.step]
    at, best = max(earlier, key=lambda pair: (pair[1].merit, pair[0]))
    text = f"{score.name} {number(score.value)}"
    if best.merit <= score.merit:
        return Evidence(f"{text}, the best up to here", step=checkpoint.step)
    text = f"{text}, the best up to here is {number(best.value)} at step {at:,}"
    return Evidence(text, step=at, weight=0)


def _earlier(checkpoint: SavedCheckpoint) -> Term:
    said = tuple(
        Evidence(f"attempt {begun.attempt} began from it: {begun.ended}", weight=0)
        for begun in checkpoint.begun[:_SHOWN_STARTS]
    )
    return Term("earlier starts", said, "" if said else "no attempt began from it")


def _kept(checkpoint: SavedCheckpoint) -> Term:
    said = [Evidence(text) for text in checkpoint.kept]
    if checkpoint.doomed:
        said.append(Evidence(checkpoint.doomed, weight=-1))
    return Term("kept", tuple(said), "" if said else "nothing protects it from rotation")


def _copies(checkpoint: SavedCheckpoint) -> Term:
    said = tuple(Evidence(text, weight=0) for text in checkpoint.copies)
    return Term("where it lies", said, "" if said else "no whole copy is known")


def _restore(checkpoint: SavedCheckpoint) -> Term:
    restore = checkpoint.restore
    if restore is None:
        return Term("restore", silent="no start was measured, and the number of hosts is unknown")
    took = "less than 1 s" if restore.seconds < 1 else f"about {duration(restore.seconds)}"
    text = f"{took} to load: {restore.basis}"
    return Term("restore", (Evidence(text, weight=0),))


def _lost(checkpoint: SavedCheckpoint, cost: CostBasis) -> Term:
    steps = lost_steps(cost, checkpoint.step)
    hours, tokens = lost_gpu_hours(cost, checkpoint.step), lost_tokens(cost, checkpoint.step)
    spent = "an unknown number of GPU-hours" if hours is None else f"{number(hours)} GPU-hours"
    read = "" if tokens is None else f", {tokens:,} tokens"
    text = f"{many(steps, 'step')} would be done again: {spent}{read}"
    return Term("lost work", (Evidence(text, weight=0),))
