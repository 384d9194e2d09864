"""A run in the database that exploded at step 1000, with checkpoints every 150 steps."""

from __future__ import annotations

from django.utils import timezone

from apps.accounts.records import Actor
from apps.checkpoints import services as checkpoints
from apps.core.records import CheckpointSeen, MetricRow
from apps.incidents import services as incidents
from apps.incidents import store as incident_store
from apps.incidents.domain.incident import IncidentInfo
from apps.metrics import store as metrics
from apps.rollbacks import policy_store
from apps.rollbacks.domain.trend import Curve
from apps.rollbacks.records import RollbackPolicy, RollbackRequest
from apps.runs import services as run_services
from apps.runs import store as runs
from apps.runs.records import LaunchSeen, Progress
from tests import incident_samples
from tests.incident_samples import SECOND, T0, at
from tests.rollback_samples import falling, raised

ADA = Actor("user", "ada", frozenset({"read", "operate"}))
BOB = Actor("user", "bob", frozenset({"read", "operate"}))
EVE = Actor("user", "eve", frozenset({"read"}))
KEY = "boom"
RESTART_NS = 2_000 * SECOND


def start(number: int, *, resume_step: int | None = None) -> int:
    """Registers the start of an attempt; the run's id."""
    launch = LaunchSeen(
        "torchrun:gpu-a01", f"start-{number}", T0 + number * RESTART_NS, resume_step=resume_step
    )
    assert run_services.register_launch(KEY, launch) == number
    run_id = runs.ensure_run(KEY)
    assert run_id is not None
    return run_id


def log(run_id: int, attempt: int, curve: Curve) -> None:
    """Writes losses, one step a second."""
    shift = attempt * RESTART_NS
    rows = [
        MetricRow(int(step), at(int(step)) + shift, {"train/loss": float(loss)})
        for step, loss in zip(curve.step, curve.loss, strict=True)
    ]
    metrics.write_rows(run_id, attempt, rows, source="test")
    progress = Progress(int(curve.step[0]), int(curve.step[-1]), world_size=8)
    runs.note_progress(run_id, attempt, progress, timezone.now())


def save(run_id: int, attempt: int, *steps: int, complete: bool = True) -> None:
    """Announces checkpoints."""
    marker = {".metadata": 10} if complete else {}
    seen = [
        CheckpointSeen(
            step, f"/data/boom/step-{step}", at(step) + attempt * RESTART_NS, 1.0,
            {"__0_0.distcp": 100, **marker},
        )
        for step in steps
    ]  # fmt: skip
    checkpoints.record(run_id, attempt, seen)


def explode() -> IncidentInfo:
    """Attempt 0 up to step 1250, exploded at 1000; its open incident. The project asks for a
    margin of 50 steps, so that step 900 may be chosen."""
    policy_store.save("", RollbackPolicy(margin_steps=50, version=1, changed_by="test"))
    run_id = start(0)
    log(run_id, 0, raised(falling(0, 1250), 2.5, at=1000))
    save(run_id, 0, *range(150, 1201, 150))
    (change,) = incidents.absorb(run_id, 0, [incident_samples.explosion()], at(1010))
    found = incident_store.get(change.incident_id)
    assert found is not None
    return found


def asked(step: int = 900, **fields: object) -> RollbackRequest:
    """Ada's request."""
    values: dict[str, object] = {
        "run_key": KEY,
        "step": step,
        "attempt": None,
        "confirm": str(step),
        "reason": "loss exploded",
        "idempotency_key": "k1",
        "actor": ADA,
        **fields,
    }
    return RollbackRequest(**values)  # type: ignore[arg-type]
