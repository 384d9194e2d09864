"""Loss curves made up for the bench and the tests: a healthy run, and what can go wrong in it.

Shapes follow what real logs look like (a power law with noise, one-row outliers about every 600
rows), not any particular log. Deterministic for a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """One run: a row a step. onset: where the incident starts, None in a healthy run.

    recovery: first row that is healthy again, None if never. pages: whether a person is needed.
    """

    loss: Floats
    grad_norm: Floats
    lr: Floats
    onset: int | None = None
    recovery: int | None = None
    pages: bool = False

    def columns(self) -> dict[str, list[float]]:
        """The curve as a log has it: name -> one value a row."""
        return {
            "step": list(map(float, range(len(self)))),
            "loss": self.loss.tolist(),
            "grad_norm": self.grad_norm.tolist(),
            "lr": self.lr.tolist(),
        }

    def __len__(self) -> int:
        return len(self.loss)


def healthy(rows: int, *, seed: int, noise: float = 0.03, outliers: bool = True) -> Curve:
    """A descent from 6 to about 2.5 with relative noise; cosine learning rate with warm-up."""
    rng = np.random.default_rng(seed)
    at = np.arange(rows)
    level = 2.2 + 3.8 * (1 + at / 20.0) ** -0.5
    loss = level * (1 + noise * rng.standard_normal(rows))
    grad = 0.6 * (1 + 0.15 * np.abs(rng.standard_normal(rows))) * (1 + at / 50.0) ** -0.2
    if outliers:
        hit = rng.random(rows) < 1 / 600
        loss[hit] *= 1 + rng.uniform(0.2, 0.8, rows)[hit]
        grad[hit] *= 6
    warm_up = np.minimum(1.0, (at + 1) / 100)
    lr = 3e-4 * warm_up * (0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * at / rows)))
    return Curve(loss, grad, lr)


def explosion(curve: Curve, onset: int) -> Curve:
    """The learning rate is 40 times too high from `onset` on: up within three rows, stays."""
    loss, grad, lr = curve.loss.copy(), curve.grad_norm.copy(), curve.lr.copy()
    after = np.arange(len(curve) - onset)
    loss[onset:] *= 1 + 2.5 * np.minimum(1, (after + 1) / 3)
    grad[onset:] *= 1 + 10 * 0.9**after
    lr[onset:] *= 40
    return replace(curve, loss=loss, grad_norm=grad, lr=lr, onset=onset, pages=True)


def bad_batches(curve: Curve, onset: int) -> Curve:
    """Three batches of noise under gradient clipping: far up, back within ten rows by itself."""
    loss, grad = curve.loss.copy(), curve.grad_norm.copy()
    rows = np.arange(12)
    loss[onset : onset + 12] *= 1 + np.where(rows < 3, 3.0, 0.5 * 0.75 ** (rows - 3))
    grad[onset : onset + 12] *= 1 + 9 * 0.8**rows
    return replace(curve, loss=loss, grad_norm=grad, onset=onset, recovery=onset + 12)


def level_shift(curve: Curve, onset: int, share: float = 0.2) -> Curve:
    """The loss is higher from `onset` on, first by twice the share, then by the share."""
    loss = curve.loss.copy()
    after = np.arange(len(curve) - onset)
    loss[onset:] *= 1 + share * (1 + 0.9**after)
    return replace(curve, loss=loss, onset=onset, pages=True)


def slow_divergence(curve: Curve, onset: int) -> Curve:
    """The loss creeps up by 1 % every 30 rows, without an edge."""
    loss = curve.loss.copy()
    loss[onset:] *= 1 + 0.01 * np.arange(len(curve) - onset) / 30
    return replace(curve, loss=loss, onset=onset, pages=True)


def not_a_number(curve: Curve, onset: int) -> Curve:
    """NaN from `onset` on."""
    loss, grad = curve.loss.copy(), curve.grad_norm.copy()
    loss[onset:], grad[onset:] = np.nan, np.nan
    return replace(curve, loss=loss, grad_norm=grad, onset=onset, pages=True)


def repeated_batch(curve: Curve, onset: int) -> Curve:
    """The loader repeats one batch: the loss falls to almost nothing within 30 rows."""
    loss = curve.loss.copy()
    after = np.arange(len(curve) - onset)
    loss[onset:] *= np.maximum(0.04, 0.85**after)
    return replace(curve, loss=loss, onset=onset, pages=True)


FAULTS: Mapping[str, Callable[[Curve, int], Curve]] = {
    "explosion": explosion,
    "bad batches": bad_batches,
    "level shift": level_shift,
    "slow divergence": slow_divergence,
    "nan": not_a_number,
    "repeated batch": repeated_batch,
}


def family(rows: int = 3_000, seeds: int = 4) -> dict[str, Curve]:
    """name -> curve: healthy ones, and every fault in runs of different noise."""
    curves = {}
    for seed in range(seeds):
        noise = (0.01, 0.03, 0.05)[seed % 3]
        base = healthy(rows, seed=seed, noise=noise)
        curves[f"healthy {seed}"] = base
        for name, spoil in FAULTS.items():
            curves[f"{name} {seed}"] = spoil(base, rows // 2 + 37 * seed)
    return curves
