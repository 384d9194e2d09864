"""The smallest valid inputs of the rollback domain, and the two recorded stories as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.rollbacks.domain.cost import CostBasis
from apps.rollbacks.domain.lineage import Branch
from apps.rollbacks.domain.scene import Fault, Health, SavedCheckpoint, Scene
from apps.rollbacks.domain.trend import Curve

SECOND = 1_000_000_000


def saved(step: int, attempt: int = 0, **fields: Any) -> SavedCheckpoint:
    """A complete checkpoint, saved one second a step after the epoch."""
    values: dict[str, Any] = {
        "path": f"/data/run/attempt-{attempt}/step-{step}",
        "saved_at_ns": step * SECOND,
        "size_bytes": 1_000,
        "level": "committed",
        "complete": True,
        **fields,
    }
    if "loss_z" in values:
        values["health"] = Health(loss_z=values.pop("loss_z"))
    return SavedCheckpoint(attempt, step, **values)


def fault(kind: str = "explosion", onset: int | None = 1000, attempt: int = 0) -> Fault:
    """A fault whose onset has the time of its step."""
    return Fault(kind, attempt, onset, (onset or 1000) * SECOND)


FIRST = Branch(0, None, None)


def scene(
    checkpoints: list[SavedCheckpoint],
    what: Fault | None = None,
    branches: tuple[Branch, ...] = (FIRST,),
    cost: CostBasis | None = None,
) -> Scene:
    """What the ranker looks at; one attempt, 8 GPUs, 2 s a step, newest step 1250."""
    return Scene(checkpoints, what or fault(), branches, cost or CostBasis(1250, 2.0, 8))


def lrbump() -> list[SavedCheckpoint]:
    """All checkpoints of the recorded run, both starts, in the same directories."""
    first = [saved(n, path=f"/data/lrbump/step-{n}") for n in range(150, 1201, 150)]
    later = {"saved_at_ns": 5_000 * SECOND}
    second = [saved(n, 1, path=f"/data/lrbump/step-{n}", **later) for n in range(1050, 1501, 150)]
    return [*first, *second]


LRBUMP_BRANCHES = (FIRST, Branch(1, 0, 900))


def falling(first: int, last: int, *, noise: float = 0.03, seed: int = 1) -> Curve:
    """A healthy loss curve at steps first .. last - 1."""
    step = np.arange(first, last, dtype=np.int64)
    wobble = np.random.default_rng(seed).normal(0, noise, last)[first:]
    return Curve(step, 6.0 / np.log(step + 10.0) + wobble)


def raised(curve: Curve, by: float, *, at: int) -> Curve:
    """The curve with `by` added from a step on."""
    return Curve(curve.step, np.where(curve.step >= at, curve.loss + by, curve.loss))
