"""metrics.domain.gaps, through the detector and the rows that are read for it."""

from dataclasses import replace

import numpy as np
import pytest

from apps.metrics.domain.rows import train_rows
from tests.metric_samples import S, curve_rows, findings, pages
from workers.benches.loss_curves import healthy


def rows_without(steps, *, every=1, seconds=60, grad_norm=True):
    """A row every `seconds` s; a loss in every `every`-th of them, and none at `steps`."""
    rows = curve_rows(healthy(400, seed=1, outliers=False))
    found = []
    for row in rows:
        row = replace(row, time_ns=row.step * seconds * S)
        if row.step in steps or row.step % every:
            row = replace(row, loss=None, grad_norm=row.grad_norm if grad_norm else None)
        found.append(row)
    return found


@pytest.mark.parametrize("grad_norm", [True, False])
def test_three_lines_without_a_loss_page_and_the_next_loss_ends_it(grad_norm):
    (found,) = findings(rows_without(range(200, 220), grad_norm=grad_norm)).values()

    assert (found.kind, found.severity, found.series) == ("missing_loss", "page", "train/loss")
    assert (found.onset_step, found.seen_step, found.closed_step) == (200, 202, 220)
    assert "missing since step 200" in found.title


def test_a_loss_that_never_comes_back_stays_open():
    (found,) = pages(rows_without(range(200, 400)))
    assert found.closed_step is None


@pytest.mark.parametrize(
    "rows",
    [
        rows_without(range(200, 202)),
        rows_without((), every=10),
        rows_without(range(200, 215), every=10),
        rows_without(range(10, 20)),
        rows_without(range(200, 210), seconds=1),
    ],
    ids=["two lines", "one in ten", "two of one in ten", "too early", "within half a minute"],
)
def test_what_is_no_missing_loss(rows):
    assert pages(rows) == []


def test_a_line_with_only_a_learning_rate_is_a_row():
    steps, loss_steps = np.arange(4), np.arange(2)
    series = {
        "lr": (steps, steps * S, np.full(4, 1e-4)),
        "loss": (loss_steps, loss_steps * S, np.full(2, 2.0)),
    }
    rows = train_rows(series, {"lr": "lr", "loss": "loss"})
    assert [(row.step, row.loss, row.lr) for row in rows] == [
        (0, 2.0, 1e-4), (1, 2.0, 1e-4), (2, None, 1e-4), (3, None, 1e-4),
    ]  # fmt: skip


def test_a_learning_rate_of_log_lines_that_are_ahead_of_the_losses_misses_nothing():
    steps, late = np.arange(200), np.arange(300)
    series = {
        "train/loss": (steps, steps * 60 * S, np.full(200, 2.0)),
        "log/learning rate": (late, late * 60 * S, np.full(300, 1e-3)),
        "train/lr": (late, late * 60 * S, np.full(300, 1e-3)),
    }
    rows = train_rows(series, {"loss": "train/loss", "lr": "log/learning rate"})
    assert [row.step for row in rows] == list(range(200))
    assert rows[7].lr == 1e-3
    beside = train_rows(series, {"loss": "train/loss", "lr": "train/lr"})
    assert [row.step for row in beside] == list(range(300))
