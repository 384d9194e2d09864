"""One logged row of the job, as the loss detector reads it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrainRow:
    """None: not logged. NaN and inf are data. The fields behind the loss scale explain a shift
    (`domain/context.py`) or say which data a row saw; they carry the names of roles."""

    step: int
    time_ns: int
    loss: float | None = None
    grad_norm: float | None = None
    lr: float | None = None
    loss_scale: float | None = None
    batch_size: float | None = None
    sequence_length: float | None = None
    data_mixture: float | None = None
    tokens_seen: float | None = None
    samples_seen: float | None = None
    epoch: float | None = None

    def position(self) -> dict[str, float]:
        """Where in the data the row stands, as far as it was logged; finite values only."""
        known = {
            "tokens": self.tokens_seen,
            "samples": self.samples_seen,
            "epoch": self.epoch,
        }
        return {name: v for name, v in known.items() if v is not None and abs(v) < _BOUND}


_BOUND = 1e300
