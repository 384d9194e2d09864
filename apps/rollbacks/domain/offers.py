"""Three checkpoints to look at first: the newest safe one, the healthiest, the best evaluated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.words import number
from apps.rollbacks.domain.scene import Evaluated, SavedCheckpoint
from apps.rollbacks.domain.terms import sick

NEWEST, HEALTHIEST, BEST = "newest safe", "healthiest", "best evaluated"


@dataclass(frozen=True, slots=True)
class Offer:
    """One of the three. step, attempt: None where there is none; why: then says why not."""

    name: str
    why: str
    step: int | None = None
    attempt: int | None = None


def offers(eligible: Sequence[SavedCheckpoint], sick_z: float) -> tuple[Offer, ...]:
    """The three offers among the eligible checkpoints; several may name the same one."""
    if not eligible:
        why = "no checkpoint is eligible"
        return tuple(Offer(name, why) for name in (NEWEST, HEALTHIEST, BEST))
    return (_newest(eligible, sick_z), _healthiest(eligible, sick_z), _best(eligible))


def _newest(eligible: Sequence[SavedCheckpoint], sick_z: float) -> Offer:
    safe = [c for c in eligible if not sick(c.health, sick_z)]
    if not safe:
        return Offer(NEWEST, "before every eligible one something was wrong already")
    found = max(safe, key=lambda c: (c.step, c.attempt))
    return _offer(NEWEST, found, "least work to do again of those without a sign of illness")


def _healthiest(eligible: Sequence[SavedCheckpoint], sick_z: float) -> Offer:
    measured = [c for c in eligible if c.health.measured]
    if not measured:
        return Offer(HEALTHIEST, "the rows before the saves were not logged or not read")
    found = min(measured, key=lambda c: (_illness(c, sick_z), -c.step, -c.attempt))
    z = found.health.worst_z
    furthest = f"at most {z:+.1f} robust standard deviations before the save"
    why = furthest if z > float("-inf") else "no sign of illness"
    return _offer(HEALTHIEST, found, why)


def _illness(checkpoint: SavedCheckpoint, sick_z: float) -> tuple[bool, int, float]:
    """The smaller the healthier. Noise of one deviation is no difference."""
    health = checkpoint.health
    falls = (health.nonfinite or 0) + (health.scale_falls or 0)
    z = health.worst_z
    return (sick(health, sick_z), falls, max(1.0, z if math.isinf(z) else float(round(z))))


def _best(eligible: Sequence[SavedCheckpoint]) -> Offer:
    names = Counter(s.name for c in eligible for s in c.scores if s.higher is not None)
    if not names:
        return Offer(BEST, "no eligible checkpoint was evaluated")
    # The evaluation that compares most of them; the first by name among equals.
    name = min(names, key=lambda name: (-names[name], name))
    scored = [(c, score) for c in eligible for score in c.scores if score.name == name]
    found, score = max(scored, key=lambda pair: (pair[1].merit, pair[0].step, pair[0].attempt))
    return _offer(BEST, found, _won(score, len(scored)))


def _won(score: Evaluated, of: int) -> str:
    return f"{score.name} {number(score.value)}, the best of {of} evaluated"


def _offer(name: str, found: SavedCheckpoint, why: str) -> Offer:
    return Offer(name, why, found.step, found.attempt)
