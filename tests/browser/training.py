"""A training as a user connects it: starts, rows and checkpoints posted with a token, and nothing
else known of Lastgood."""

from __future__ import annotations

import time
from typing import Any

import httpx

from tests.rollback_samples import falling, raised

SECOND = 10**9
STEPS_A_SECOND = 2
BREAKS_AT = 320
"""The step from which on the loss of the first start is wrong."""


class Training:
    """One run of a job with a launcher that obeys orders."""

    def __init__(self, url: str, token: str, run: str) -> None:
        self._client = httpx.Client(
            base_url=f"{url}/api/v1/runs/{run}/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
        )
        self._attempt = 0
        self._began_ns = time.time_ns() - 1_000 * SECOND
        self._from = 0

    def start(self, launch: str, at_step: int = 0) -> None:
        """A start that begins at a step; of starts after the first, a while later."""
        self._began_ns += 400 * SECOND if at_step else 0
        self._from = at_step
        told = {
            "slot": "gpu-a01", "launch": launch, "started_ns": self._began_ns, "node": "gpu-a01",
            "resume_step": at_step or None,
        }  # fmt: skip
        self._attempt = self._post("launches", told)["attempt"]

    def log(self, first: int, last: int) -> None:
        """Rows of steps first to last - 1."""
        curve = falling(0, last, seed=1 + self._attempt)
        if self._attempt == 0:
            curve = raised(curve, 3.0, at=BREAKS_AT)
        rows = [
            {"step": step, "time_ns": self._at(step), "values": {"train/loss": loss}}
            for step, loss in zip(curve.step.tolist(), curve.loss.tolist(), strict=True)
            if step >= first
        ]
        self._post("metrics", {"attempt": self._attempt, "rows": rows})

    def save(self, *steps: int) -> None:
        """Checkpoints, whole."""
        events = [
            {
                "ts": self._at(step) / SECOND, "step": step, "path": f"/ckpt/step-{step}",
                "save_s": 1.0, "files": {".metadata": 10, "__0_0.distcp": 100},
            }
            for step in steps
        ]  # fmt: skip
        self._post("checkpoints", {"attempt": self._attempt, "events": events})

    def take(self, order: int, launch: str) -> None:
        """The launcher takes an order on."""
        self._post(f"rollback/{order}/acknowledge", {"launch": launch})

    def close(self) -> None:
        """Lets go of the connection."""
        self._client.close()

    def _at(self, step: int) -> int:
        return self._began_ns + (step - self._from) * SECOND // STEPS_A_SECOND

    def _post(self, door: str, body: dict[str, Any]) -> Any:
        answer = self._client.post(door, json=body)
        assert answer.is_success, answer.text
        return answer.json()
