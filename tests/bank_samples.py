"""Matrices of series for the tests of the bank of detectors."""

from __future__ import annotations

import numpy as np

from apps.metrics.domain import bank
from apps.metrics.domain.bank import BankPolicy, Demand, Rows

POLICY = BankPolicy()
S = 1_000_000_000


def healthy(rows=600, series=4, *, seed=0, noise=0.04):
    """Values around 3 that fall slowly, as a schedule makes them."""
    rng = np.random.default_rng(seed)
    level = 3.0 / (1 + np.arange(rows) / 400)
    return level[:, None] * (1 + noise * rng.standard_normal((rows, series)))


def rows_of(values, *, first=0, every=1, present=None):
    """A matrix with a row every so many steps, a second a step."""
    step = first + every * np.arange(len(values), dtype=np.int64)
    return Rows(step, step * S, np.asarray(values, dtype=np.float64), present)


def judged(values, *, demand=None, **place):
    """What happens in a new bank that sees the values at once."""
    values = np.asarray(values, dtype=np.float64)
    state = bank.of([demand or Demand()] * values.shape[1])
    return bank.feed(state, rows_of(values, **place), POLICY)


def told(events, *kinds):
    """(what, column, where it began) of the events, of some kinds only."""
    return [
        (e.what.name, e.column, e.since_step) for e in events if not kinds or e.what.name in kinds
    ]
