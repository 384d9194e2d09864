"""How far before the onset a checkpoint must lie to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.checkpoints.domain.storagewatch import KINDS as STORAGE
from apps.core.words import many
from apps.rollbacks.domain.arrival import KINDS as ARRIVAL
from apps.rollbacks.domain.scene import FAILURE

_WHOLE = frozenset(
    (
        FAILURE,
        "no_contact",
        "throughput_drop",
        "straggler",
        "silent_rank",
        "save_failed",
        "save_late",
        "save_slow",
        *STORAGE,
        *ARRIVAL,
    )
)
"""What leaves the state of the training as it is."""
_SUDDEN = frozenset(
    ("explosion", "level_shift", "nonfinite", "rank_outlier", "loss_drop", "outlier")
)
SUDDEN_ROWS = 10
"""Rows whose median says that the loss jumped (metrics.domain.episodes, the longer one)."""
_SAVES = 10


@dataclass(frozen=True, slots=True)
class MarginPolicy:
    """fixed_steps: what the project asks for instead, None for the rule.

    The rule is the largest of least_steps, two windows of the detector, one save interval. Source:
    PaLM restarted about 100 steps before a spike, GLM-130B 50 to 100. K2 began again at the
    checkpoint where the first spike stood, and the next one came 26 steps later. slow_least_steps:
    the state 100 to 250 steps before the loss turned was already damaged (own runs, ramp from
    601); BigScience 104B went back 750 to 1,900. A crash or a hang leaves the state whole: no
    margin, whatever the project says.
    """

    least_steps: int = 100
    slow_least_steps: int = 250
    fixed_steps: int | None = None


DEFAULT_MARGIN = MarginPolicy()


@dataclass(frozen=True, slots=True)
class Margin:
    """steps: that a checkpoint must lie before the onset. words: where the number comes from."""

    steps: int
    words: str


NO_MARGIN = Margin(0, "this kind of fault leaves the state whole")


def whole(kind: str) -> bool:
    """Whether a fault of this kind leaves the state of the training as it is."""
    return kind in _WHOLE


def sudden(kind: str) -> bool:
    """Whether the onset is known to a few rows. An unknown kind is treated as slow."""
    return kind in _SUDDEN


def save_interval(steps: Sequence[int]) -> int:
    """The usual distance of the last saves, in steps: their median; 0 with fewer than two."""
    newest = np.unique(np.asarray(steps, np.int64))[-_SAVES - 1 :]
    return int(np.median(np.diff(newest))) if len(newest) > 1 else 0


def margin(
    kind: str, *, window_steps: int, interval_steps: int, policy: MarginPolicy = DEFAULT_MARGIN
) -> Margin:
    """The margin for a fault of this kind. window_steps, interval_steps: 0 where unknown."""
    if whole(kind):
        return NO_MARGIN
    if policy.fixed_steps is not None:
        return Margin(policy.fixed_steps, "set for this project")
    least = policy.least_steps if sudden(kind) else policy.slow_least_steps
    asked = [
        (least, f"{least} steps at least"),
        (2 * window_steps, f"two windows of the detector of {many(window_steps, 'step')}"),
        (interval_steps, f"one save interval of {many(interval_steps, 'step')}"),
    ]
    return Margin(*max(asked, key=lambda pair: pair[0]))
