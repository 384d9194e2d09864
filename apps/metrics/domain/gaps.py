"""Step lines without a loss: the run goes on, but nobody can see how well."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec


@dataclass(frozen=True, slots=True)
class GapPolicy:
    """times: how often a loss was due and did not come, by the longest gap between two losses so
    far. rows: at least so many rows. wait_s: and so long, since a loss may come by another way
    than the rest of its line. min_losses: before the first verdict.
    Source: Megatron leaves `lm loss` out of lines whose gradient norm is NaN (Megatron-DeepSpeed
    issue 396); logs of one loss per ten or more lines are usual.
    """

    times: int = 3
    rows: int = 3
    wait_s: float = 120.0
    min_losses: int = 20


KEPT = 20
"""Gaps that say how often a loss is due."""


class GapState(msgspec.Struct):
    """gaps: rows from one loss to the next, of the last ones. since: rows after the last loss.
    first_*: the first of these rows. last: the last loss."""

    gaps: list[int] = []
    losses: int = 0
    since: int = 0
    first_step: int = 0
    first_time_ns: int = 0
    last: float = 0.0


def with_loss(state: GapState, loss: float) -> None:
    """A row brought a loss."""
    if state.losses:
        state.gaps.append(state.since + 1)
        del state.gaps[:-KEPT]
    state.losses += 1
    state.since, state.last = 0, loss


def without_loss(state: GapState, step: int, time_ns: int, policy: GapPolicy) -> bool:
    """A row brought none; whether losses are missing by now."""
    if state.since == 0:
        state.first_step, state.first_time_ns = step, time_ns
    state.since += 1
    if state.losses < policy.min_losses:
        return False
    due = max(policy.rows, policy.times * max(state.gaps))
    return state.since >= due and time_ns - state.first_time_ns >= policy.wait_s * 1e9
