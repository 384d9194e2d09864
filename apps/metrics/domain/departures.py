"""Which series left their own bands around an incident, and when."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from apps.metrics.domain import bank
from apps.metrics.domain.bank import BankPolicy, Demand, Happened, Rows, What
from apps.metrics.domain.blocks import Ints


@dataclass(frozen=True, slots=True)
class DeparturePolicy:
    """Rows of the series itself, so that a series logged every tenth step is treated alike.

    There is an incident already, so less is asked for than by the bank that watches: from
    `near_rows` values before it on, three of 16 values beyond six robust standard deviations and
    `excess` of the level, after 24 values. A move that began earlier must last as long as the bank
    asks for, and get twice as far: a slow drift of a healthy series creeps over the edge of a
    frozen band. One that was over before the incident is another story, and so is one that began
    more than `look_back_steps` before. after_steps: so long behind it a move counts as late.
    """

    excess: float = 0.10
    near_rows: int = 20
    look_back_steps: int = 400
    after_steps: int = 50
    far: BankPolicy = field(default_factory=lambda: BankPolicy(min_blocks=3, young_blocks=16))
    near: BankPolicy = field(
        default_factory=lambda: BankPolicy(min_blocks=3, young_blocks=3, need=3)
    )


@dataclass(frozen=True, slots=True)
class Departure:
    """A series left its band at `step`. before: its level, value: its first value outside.

    z: robust standard deviations of that value, inf if it is no number. column: of the matrix.
    """

    step: int
    value: float
    before: float
    z: float
    time_ns: int = 0
    column: int = 0


@dataclass(slots=True)
class _Move:
    """A move while the events are read. over_step: where it was back in its band."""

    began: Happened
    loud: bool = False
    over_step: int | None = None


def departures(
    rows: Rows, anchor_step: int, policy: DeparturePolicy | None = None
) -> list[Departure]:
    """For each column that moved, where it did: the earliest move that reaches the incident, else
    the first one behind it. By step, those farthest out first.

    rows: may hold NaN and inf, which count as outside; those later than `after_steps` behind the
    incident are not to be among them. Cost: that of `bank.feed`.
    """
    policy = policy or DeparturePolicy()
    columns = rows.values.shape[1]
    state = bank.of([Demand(excess=policy.excess)] * columns)
    near = _near_steps(rows, anchor_step, policy.near_rows)
    cut = int(np.searchsorted(rows.step, np.median(near)))
    events = bank.feed(state, rows.part(0, cut), policy.far)
    moves = _moves(events + bank.feed(state, rows.part(cut, len(rows.step)), policy.near))
    found = []
    for column, own in moves.items():
        recent = [m for m in own if m.began.since_step >= anchor_step - policy.look_back_steps]
        counting = [move for move in recent if _counts(move, anchor_step, int(near[column]))]
        if counting:
            found.append(_departure(min(counting, key=lambda move: move.began.since_step)))
    return sorted(found, key=lambda one: (one.step, -abs(one.z), one.column))


def _moves(events: list[Happened]) -> dict[int, list[_Move]]:
    moves: dict[int, list[_Move]] = {}
    for event in events:
        own = moves.setdefault(event.column, [])
        if event.what is What.MOVED:
            own.append(_Move(event))
        elif event.what is What.LOUD and own:
            own[-1].loud = True
        elif event.what is What.BACK and own:
            own[-1].over_step = event.step
    return moves


def _near_steps(rows: Rows, anchor_step: int, near_rows: int) -> Ints:
    """The step of each column's value that lies `near_rows` values before the incident."""
    ahead = rows.step < anchor_step
    behind = np.cumsum((rows.shown & ahead[:, None])[::-1], axis=0)[::-1]
    first = np.argmax(behind <= near_rows, axis=0)
    steps: Ints = rows.step[first]
    return steps


def _counts(move: _Move, anchor_step: int, near_step: int) -> bool:
    if move.over_step is not None and move.over_step < anchor_step:
        return False
    return move.loud or move.began.since_step >= near_step


def _departure(move: _Move) -> Departure:
    began = move.began
    return Departure(
        step=began.since_step,
        value=began.value,
        before=began.before,
        z=began.z,
        time_ns=began.since_ns,
        column=began.column,
    )
