"""Trainings by number: each has another network, unit, interval and fate, and labels of its own.

A label is not what was meant to happen but what happened: the same training without the fault (its
twin) is run too, and the fault counts as an incident if the loss left the twin's by enough for long
enough. Rules as in the loss-spike study: a person is needed (page) for five rows of at least 25 %
of what there was to lose, or when nothing recovers; three rows that recover are a warn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workers.benches.trainings.models import Batch
from workers.benches.trainings.tape import Floats
from workers.benches.trainings.train import FAULTS, OFFSET_NATS, Training, Turn, rows

ALL = ("grad_norm", "lr", "batch_size", "sequence_length", "tokens", "stage")
USUAL = ("grad_norm", "lr")
RATES = {"gru": 1e-2, "images": 1e-3, "blurred images": 2e-3}
SPARSE_STEPS = 2_400


@dataclass(frozen=True, slots=True)
class Case:
    """A training and the labels of its events, as `workers/benches/spike_score.py` reads them."""

    name: str
    rows: list[dict[str, float]]
    events: list[dict[str, Any]]

    def columns(self) -> dict[str, list[float]]:
        """The training as a log has it: name -> one value a row."""
        return {name: [row[name] for row in self.rows] for name in self.rows[0]}


Fate = Callable[[Training, int, np.random.Generator], Training]


def _turn(what: str, low: float, high: float, lasts: tuple[int, int] | None = None) -> Fate:
    """A turn of an amount between two, somewhere in the middle, for some steps or to the end."""

    def fate(base: Training, at: int, rng: np.random.Generator) -> Training:
        to = None if lasts is None else at + int(rng.integers(*lasts))
        amount = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        return replace(base, turns=(Turn(what, at, amount, to),))

    return fate


def _healthy(base: Training, at: int, rng: np.random.Generator) -> Training:
    return base


def _restart(base: Training, at: int, rng: np.random.Generator) -> Training:
    return replace(base, turns=(Turn("restart", at),))


def _decay(base: Training, at: int, rng: np.random.Generator) -> Training:
    return replace(base, schedule="steps")


def _hot_start(base: Training, at: int, rng: np.random.Generator) -> Training:
    """The learning rate climbs to far too much inside warm-up, at once or row by row."""
    warm_up = base.steps // 5
    factor = float(rng.uniform(40, 120))
    wrong = Turn("lr", warm_up // 3, factor)
    if rng.random() < 0.5:
        wrong = Turn("lr climb", warm_up // 3, factor, 2 * warm_up // 3)
    return replace(base, warm_up=warm_up, schedule="constant", clip=None, turns=(wrong,))


def _hump(base: Training, at: int, rng: np.random.Generator) -> Training:
    """A learning rate at the edge, reached by a long warm-up: the loss bulges and comes back."""
    rate = base.lr * float(rng.uniform(3, 6))
    return replace(base, warm_up=base.steps // 5, lr=rate)


def _longer(base: Training, at: int, rng: np.random.Generator) -> Training:
    later = int(at + rng.integers(100, 200))
    turns = (
        Turn("length", at, 2 * base.batch.length),
        Turn("length", later, 4 * base.batch.length),
    )
    return replace(base, turns=turns)


def _larger(base: Training, at: int, rng: np.random.Generator) -> Training:
    return replace(base, turns=(Turn("size", at, base.batch.size * int(rng.integers(2, 5))),))


def _harder(base: Training, at: int, rng: np.random.Generator) -> Training:
    gap = (base.steps - at) // 3
    turns = tuple(Turn("hard", at + gap * stage, 0.33 * (stage + 1)) for stage in range(3))
    return replace(base, turns=turns)


def _other_data(base: Training, at: int, rng: np.random.Generator) -> Training:
    return replace(base, turns=(Turn("source", at, 1.0),))


def _repeat(base: Training, at: int, rng: np.random.Generator) -> Training:
    return replace(base, turns=(Turn("repeat", at, 0.0, at + int(rng.integers(80, 140))),))


FATES: dict[str, Fate] = {
    "healthy": _healthy,
    "high rate": _turn("lr", 20, 100),
    "longer sequences": _longer,
    "bad data": _turn("bad data", 1, 1.0001, (20, 60)),
    "harder data": _harder,
    "weights": _turn("weights", 8, 64),
    "restart": _restart,
    "hot start": _hot_start,
    "larger batch": _larger,
    "slow rise": _turn("spoil ramp", 0.0005, 0.002),
    "hump": _hump,
    "not a number": _turn("nan", 1, 2),
    "other data": _other_data,
    "rate ramp": _turn("lr ramp", 1.008, 1.02),
    "decay": _decay,
    "poison": _turn("poison", 1e3, 1e5),
    "noise": _healthy,
    "repeat": _repeat,
}
"""Faults and plans in turn."""
PLANS_IN_SUM = ("longer sequences", "larger batch")


def training(number: int) -> tuple[str, Training]:
    """(name, training) of a number; another one for every number."""
    rng = np.random.default_rng([2_026, number])
    fate = list(FATES)[number // 2 % len(FATES)]
    model = str(rng.choice(["gru", "tied", "experts", "images", "blurred images", "density"]))
    if fate in PLANS_IN_SUM and model not in ("gru", "experts"):
        model = "tied"
    sparse = bool(rng.random() < 0.25) and model != "gru"
    unit = str(rng.choice(["nats", "bits", "sum", "bit sum", "offset"]))
    if fate in PLANS_IN_SUM and rng.random() < 0.7:
        unit = "sum"
    base = Training(
        model=model,
        seed=number,
        steps=SPARSE_STEPS if sparse else int(rng.integers(600, 1_000)),
        every=10 if sparse else 1,
        unit=unit,
        lr=RATES.get(model, 3e-3) * float(rng.uniform(0.7, 1.4)),
        warm_up=int(rng.integers(10, 80)),
        clip=1.0 if rng.random() < 0.6 else None,
        batch=Batch(4 if fate == "noise" else int(rng.choice([8, 16, 24]))),
        told=ALL if rng.random() < 0.6 else USUAL,
    )
    at = int(base.steps * rng.uniform(0.35, 0.7))
    made = FATES[fate](base, at, rng)
    name = f"{number:03d} {fate}, {model}, {unit}{', 1 row in 10' if sparse else ''}"
    return name, made


def case(number: int) -> Case:
    """The case of a number: one training, or two if it has a fault. 1 to 15 CPU seconds."""
    name, made = training(number)
    seen = rows(made)
    faults = [turn for turn in made.turns if turn.what in FAULTS]
    events: list[dict[str, Any]] = []
    for turn in faults:
        events += _label(made, turn, seen, rows(made.clean()))
    for turn in made.turns:
        if turn not in faults:
            step = -(-turn.at // made.every) * made.every
            events.append({"onset_step": step, "kind": turn.what, "severity": "planned"})
    return Case(name, seen, events)


def _label(
    made: Training, turn: Turn, seen: list[dict[str, float]], twin: list[dict[str, float]]
) -> list[dict[str, Any]]:
    """The incident that a fault became; silent if the loss did not show it."""
    first = -(-turn.at // made.every)
    loss, clean = (np.array([row["loss"] for row in part]) for part in (seen, twin))
    if not np.isfinite(loss[first:]).all():
        step = seen[first + int(np.argmax(~np.isfinite(loss[first:])))]["step"]
        return [_event(turn, "nan", "page", int(step), None)]
    level = _level(made, clean)
    apart = np.abs(loss - clean) if turn.what == "repeat" else loss - clean
    noise = 1.4826 * float(np.median(np.abs(clean[first // 2 :] - level[first // 2 :])))
    out = apart > np.maximum(4 * noise, 0.1 * _reach(made, level))
    out[:first] = False
    far = _running(apart, 5) > 0.25 * _reach(made, level)
    far[: first + 4] = False
    if _running(out.astype(float), 5).max(initial=0.0) < 1.0 and not far.any():
        return [_event(turn, turn.what, "silent", turn.at, None)]
    runs = np.flatnonzero(_running(out.astype(float), 5) > 0.5)
    onset = int(runs[0]) - 2 if len(runs) else int(np.argmax(far))
    onset = max(first, onset)
    ten = _running(out.astype(float), 10)
    back = int(np.flatnonzero(ten >= 0.5)[-1]) + 1 if (ten >= 0.5).any() else onset + 10
    stays = turn.to is None and turn.what.startswith(("lr", "spoil"))
    recovery = int(seen[back]["step"]) if back < len(out) - 5 and not stays else None
    severity = "page" if far.any() or recovery is None else "warn"
    return [_event(turn, turn.what, severity, int(seen[onset]["step"]), recovery)]


def _event(turn: Turn, kind: str, severity: str, step: int, recovery: int | None) -> dict[str, Any]:
    event: dict[str, Any] = {"onset_step": step, "recovery_step": recovery, "kind": kind}
    slow = {"fault_step": turn.at} if severity != "silent" else {}
    return {**event, "severity": severity, **slow}


def _level(made: Training, clean: Floats) -> Floats:
    """A running median of 21 rows."""
    wide = np.concatenate([np.repeat(clean[:1], 10), clean, np.repeat(clean[-1:], 10)])
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(wide, 21), axis=1))


def _reach(made: Training, level: Floats) -> Floats:
    """What there is to lose: the level itself, or a quarter of what was learnt where that is more
    (a loss near zero, or below)."""
    zero = OFFSET_NATS if made.unit == "offset" else 0.0
    learnt = np.maximum.accumulate(level) - level
    return np.asarray(np.maximum(np.abs(level + zero), 0.25 * learnt))


def _running(values: Floats, rows_: int) -> Floats:
    """The mean of the last rows (trailing)."""
    wide = np.concatenate([np.zeros(rows_ - 1), values])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(wide, rows_).mean(axis=1))
