"""Series of one attempt -> the rows the loss detector reads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.metrics.domain.blocks import Floats, Ints
from apps.metrics.domain.roles import FROM_LOG
from apps.metrics.domain.train_row import TrainRow

Series = tuple[Ints, Ints, Floats]
"""(step, time_ns, value), by step, at equal steps in order of arrival."""

LEADING = ("loss", "grad_norm", "lr", "loss_scale")
"""Roles that stand in every line of a training step."""


def train_rows(series: Mapping[str, Series], names: Mapping[str, str]) -> list[TrainRow]:
    """One row for every step at which one of LEADING was logged, by step.

    names: role -> series. A step that was logged twice gives one row with what arrived last. A row
    without a loss says that one is missing: what comes another way than the loss (read from log
    lines, where the loss is not), and perhaps sooner, makes no row of its own.
    """
    by_role = {role: _by_step(series[name]) for role, name in names.items() if name in series}
    leading = [by_role[role] for role in LEADING if role in by_role and _beside_loss(names, role)]
    times: dict[int, int] = {}
    for values in reversed(leading):
        times.update({step: time_ns for step, (time_ns, _) in values.items()})
    return [
        TrainRow(step, times[step], **{role: _at(values, step) for role, values in by_role.items()})
        for step in sorted(times)
    ]


def _beside_loss(names: Mapping[str, str], role: str) -> bool:
    """Whether the series of a role comes the way that the loss does; so if there is no loss."""
    loss = names.get("loss", names[role])
    return names[role].startswith(FROM_LOG) == loss.startswith(FROM_LOG)


def _by_step(series: Series) -> dict[int, tuple[int, float]]:
    steps, times, values = (np.asarray(part).tolist() for part in series)
    return dict(zip(steps, zip(times, values, strict=True), strict=True))


def _at(values: Mapping[int, tuple[int, float]], step: int) -> float | None:
    found = values.get(step)
    return None if found is None else found[1]
