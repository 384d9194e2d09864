"""Reads what candidates are weighed by: the training before a save, earlier starts, loading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.checkpoints.domain.optimizer import holds_optimizer
from apps.checkpoints.records import CheckpointInfo
from apps.incidents import store as incidents
from apps.incidents.store import FindingSpan
from apps.metrics import store as metrics
from apps.metrics.domain.roles import Roles
from apps.rollbacks import store
from apps.rollbacks.domain.lineage import Branch, Stretch, contains
from apps.rollbacks.domain.restoring import SeenStart, estimate
from apps.rollbacks.domain.scene import Begun, Fault, Health, SavedCheckpoint
from apps.rollbacks.domain.starts import Place, Started, begun_from
from apps.rollbacks.domain.trend import Curve, loss_z
from apps.rollbacks.joining import joined, timed
from apps.rollbacks.records import OrderInfo
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

NEAR = 6
"""Checkpoints at or before the onset whose past is read: older ones are rarely chosen."""
HEALTH_STEPS = 2_000
_NEAR_ROWS = 200
_MAX_MOMENTS = 4
_MOMENTS = "exp_avg_sq"
_DAMAGE = (
    "explosion", "level_shift", "slow_divergence", "nonfinite", "rank_outlier", "loss_drop",
    "precursor",
)  # fmt: skip
_RESTARTS = 3


@dataclass(frozen=True, slots=True)
class Basis:
    """What is known before a checkpoint is looked at. history: of the faulty attempt."""

    run_id: int
    fault: Fault
    history: Sequence[Stretch]
    attempts: Sequence[AttemptInfo]
    branches: Sequence[Branch]
    infos: Mapping[Place, CheckpointInfo]
    roles: Roles


def weighed(saved: Sequence[SavedCheckpoint], basis: Basis) -> list[SavedCheckpoint]:
    """The checkpoints with what speaks for and against each.

    Statements: about 10, and 2 or 3 for each of the NEAR newest before the onset, whose rows of
    the last HEALTH_STEPS are read; not more with the run's age.
    """
    begun = begun_from(_started(basis), list(basis.infos), basis.branches)
    seen = _measured(basis, begun)
    hosts = runs.node_count(basis.run_id, basis.fault.attempt)
    found = [
        replace(
            c,
            begun=begun.get((c.attempt, c.step), ()),
            restore=estimate(c.size_bytes, hosts, seen),
        )
        for c in saved
    ]
    return _near(found, basis)


def _near(saved: list[SavedCheckpoint], basis: Basis) -> list[SavedCheckpoint]:
    """The health and the parts of the newest ones at or before the onset."""
    limit = basis.fault.onset_step
    steps = {
        c.step
        for c in saved
        if contains(basis.history, c.attempt, c.step) and (limit is None or c.step <= limit)
    }
    near = sorted(steps, reverse=True)[:NEAR]
    if not near:
        return saved
    health = _health(basis, near)
    return [
        replace(c, health=health[c.step], optimizer=_optimizer(basis, c)) if c.step in health else c
        for c in saved
    ]


def _optimizer(basis: Basis, checkpoint: SavedCheckpoint) -> bool | None:
    info = basis.infos[(checkpoint.attempt, checkpoint.step)]
    return holds_optimizer(info.files, info.framework)


def _health(basis: Basis, steps: Sequence[int]) -> dict[int, Health]:
    roles, moments = basis.roles, _moments(basis.run_id)
    keys = [key for key in (roles.loss, roles.grad_norm, roles.loss_scale, *moments) if key]
    spans = _open_findings(basis, steps)
    found = {}
    for first, last in _merged(steps, HEALTH_STEPS):
        rows = joined(basis.run_id, keys, basis.history, (max(0, first), last))
        for step in (s for s in steps if first <= s <= last):
            found[step] = _health_at(step, _Rows(roles, moments, rows), _titles(spans, step))
    return found


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows around some saves. moments: names of the optimizer's second moments."""

    roles: Roles
    moments: Sequence[str]
    by_name: Mapping[str, Curve]

    def before(self, name: str | None, step: int) -> Curve | None:
        """The rows of a series in the HEALTH_STEPS before `step`; None without a row."""
        curve = self.by_name.get(name or "")
        if curve is None:
            return None
        kept = (curve.step <= step) & (curve.step >= step - HEALTH_STEPS)
        return Curve(curve.step[kept], curve.loss[kept]) if kept.any() else None


def _health_at(step: int, rows: _Rows, titles: tuple[str, ...]) -> Health:
    loss = rows.before(rows.roles.loss, step)
    grad = rows.before(rows.roles.grad_norm, step)
    highest = [_z(rows.before(name, step), step) for name in rows.moments]
    return Health(
        loss_z=_z(loss, step),
        grad_z=_z(grad, step),
        optimizer_z=max((z for z in highest if z is not None), default=None),
        nonfinite=_nonfinite(loss, grad),
        scale_falls=_falls(rows.before(rows.roles.loss_scale, step)),
        open_findings=titles,
    )


def _merged(steps: Sequence[int], length: int) -> list[tuple[int, int]]:
    """The windows of `length` before each step, those that touch as one, in order."""
    found: list[tuple[int, int]] = []
    for step in sorted(steps):
        if found and step - length <= found[-1][1]:
            found[-1] = (found[-1][0], step)
        else:
            found.append((step - length, step))
    return found


def _moments(run_id: int) -> list[str]:
    """The series of the optimizer's second moments, those of the largest first."""
    names = [name for name in metrics.key_names(run_id, ranked=False) if _MOMENTS in name.lower()]
    return sorted(names, key=lambda name: ("max" not in name.lower(), name))[:_MAX_MOMENTS]


def _z(curve: Curve | None, step: int) -> float | None:
    return None if curve is None else loss_z(curve, step)


def _nonfinite(*curves: Curve | None) -> int | None:
    known = [curve.loss[-_NEAR_ROWS:] for curve in curves if curve is not None]
    return max((int((~np.isfinite(rows)).sum()) for rows in known), default=None)


def _falls(scale: Curve | None) -> int | None:
    """How often the loss scale fell in the last rows."""
    return None if scale is None else int((np.diff(scale.loss[-_NEAR_ROWS:]) < 0).sum())


def _open_findings(basis: Basis, steps: Sequence[int]) -> list[FindingSpan]:
    limit = max(steps) if basis.fault.onset_step is None else basis.fault.onset_step - 1
    asked = (min(steps) - HEALTH_STEPS, min(limit, max(steps)))
    return [
        span
        for span in incidents.spans(basis.run_id, _DAMAGE, *asked)
        if contains(basis.history, span.attempt, span.onset_step)
    ]


def _titles(spans: Sequence[FindingSpan], step: int) -> tuple[str, ...]:
    """What had begun and was still seen when the checkpoint of the step was saved, at most 2."""
    seen = (s.title for s in spans if s.onset_step <= step <= s.last_step)
    return tuple(dict.fromkeys(seen))[:2]


def _started(basis: Basis) -> list[Started]:
    """The attempts after the first."""
    later = [a for a in basis.attempts if a.parent is not None]
    if not later:
        return []
    told = runs.resume_steps(basis.run_id)
    orders = {o.resumed_attempt: o for o in store.orders(basis.run_id)}
    return [_start(a, told.get(a.number), orders.get(a.number)) for a in later]


def _start(attempt: AttemptInfo, told_step: int | None, order: OrderInfo | None) -> Started:
    verdict = "" if order is None or order.active else f"{order.label} {order.state.value}"
    return Started(
        number=attempt.number,
        parent=attempt.parent,
        fork_step=attempt.fork_step,
        last_step=attempt.last_step,
        running=attempt.state == "running",
        told_step=told_step,
        ordered=None if order is None else (order.attempt, order.step),
        verdict=verdict,
    )


def _measured(basis: Basis, begun: Mapping[Place, Sequence[Begun]]) -> list[SeenStart]:
    """How long the last starts from a checkpoint took, oldest first."""
    key = basis.roles.loss
    if key is None:
        return []
    base = {start.attempt: place for place, starts in begun.items() for start in starts}
    began = [a for a in basis.attempts if a.number in base and a.first_step is not None]
    found = []
    for attempt in began[-_RESTARTS:]:
        first = attempt.first_step or 0
        _, time_ns = timed(basis.run_id, key, attempt.number, (first, first))
        if time_ns and time_ns[0] > attempt.started_ns:
            seconds = (time_ns[0] - attempt.started_ns) / 1e9
            known = basis.infos.get(base[attempt.number])
            found.append(SeenStart(seconds, known.bytes if known else 0))
    return found
