"""A small regression for the toy trainings of both frameworks. Knows nothing of Lastgood.

Run by the Python of `.venv-frameworks`, which has torch and transformers.
"""

from __future__ import annotations

import os

import torch

SAVE_EVERY = 40
WIDTH = 16


class Net(torch.nn.Module):
    """Two layers; returns the loss as Hugging Face's Trainer wants it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
        )

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """The mean squared error, 1 at the beginning."""
        return {"loss": torch.nn.functional.mse_loss(self.layers(x)[:, 0], labels)}


def batch(step: int, break_at: int | None, size: int = 32) -> dict[str, torch.Tensor]:
    """The data of a step, the same at every start; from `break_at` on it is garbage."""
    noise = torch.Generator().manual_seed(step)
    x = torch.randn(size, WIDTH, generator=noise)
    y = torch.tanh(x.mean(dim=1) * 4) + 0.1 * torch.randn(size, generator=noise)
    return {"x": x, "labels": y * (1.0 if break_at is None or step < break_at else 50.0)}


def dies_after() -> int:
    """The step after which this start is killed."""
    return int(os.environ["TOY_DIES_AFTER"])


def breaks_at() -> int | None:
    """The step from which on the data is garbage."""
    given = os.environ.get("TOY_BREAKS_AT", "")
    return int(given) if given else None
