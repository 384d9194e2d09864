"""Trains one small network by its plan and keeps what a logger would: one row every few steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from workers.benches.trainings import tape
from workers.benches.trainings.models import MODELS, Batch
from workers.benches.trainings.tape import Floats, Node

BETA1, BETA2, EPSILON = 0.9, 0.98, 1e-8
UNITS = ("nats", "bits", "sum", "bit sum", "offset")
"""offset: nats less a constant, as of a log density or a reward: near zero, often below."""
OFFSET_NATS = 1.5


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that happens from step `at` to before `to` (None: to the end).

    what: a fault ("lr", "lr ramp", "bad data", "weights", "poison", "nan", "repeat", "spoil ramp")
    or a plan ("size", "length", "hard", "source", "restart"). amount: a factor, a share, a value.
    """

    what: str
    at: int
    amount: float = 0.0
    to: int | None = None

    def on(self, step: int) -> bool:
        """Whether it happens at a step."""
        return self.at <= step and (self.to is None or step < self.to)


FAULTS = frozenset(
    {"lr", "lr ramp", "lr climb", "bad data", "weights", "poison", "nan", "repeat", "spoil ramp"}
)


@dataclass(frozen=True, slots=True)
class Training:
    """All that decides a training. every: steps a row. told: columns beside step and loss."""

    model: str
    seed: int
    steps: int = 900
    every: int = 1
    unit: str = "nats"
    lr: float = 3e-3
    warm_up: int = 40
    schedule: str = "cosine"
    clip: float | None = 1.0
    batch: Batch = field(default_factory=lambda: Batch(16))
    turns: tuple[Turn, ...] = ()
    told: tuple[str, ...] = ("grad_norm", "lr")

    def clean(self) -> Training:
        """The same without its faults: its twin."""
        plans = tuple(turn for turn in self.turns if turn.what not in FAULTS)
        return replace(self, turns=plans)

    def rate(self, step: int) -> float:
        """The learning rate at a step."""
        restarts = [t.at for t in self.turns if t.what == "restart" and t.at <= step]
        since = step - max(restarts, default=0)
        rate = self.lr * min(1.0, (step + 1) / max(1, self.warm_up))
        if self.schedule == "cosine":
            span = self.steps if not restarts else 0.6 * self.steps
            rate *= 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, since / span)))
        elif self.schedule == "steps":
            rate *= 0.2 ** (step // (0.55 * self.steps))
        for turn in self.turns:
            if turn.what == "lr" and turn.on(step):
                rate *= turn.amount
            elif turn.what == "lr ramp" and turn.on(step):
                rate *= turn.amount ** (step - turn.at)
            elif turn.what == "lr climb" and turn.to and turn.at <= step:
                rate *= turn.amount ** min(1.0, (step - turn.at) / (turn.to - turn.at))
        return rate

    def drawn(self, step: int) -> Batch:
        """The batch at a step."""
        batch = self.batch
        for turn in (turn for turn in self.turns if turn.on(step)):
            match turn.what:
                case "size":
                    batch = replace(batch, size=int(turn.amount))
                case "length":
                    batch = replace(batch, length=int(turn.amount))
                case "hard":
                    batch = replace(batch, hard=turn.amount)
                case "source":
                    batch = replace(batch, source=int(turn.amount))
                case "bad data":
                    batch = replace(batch, spoiled=turn.amount)
                case "spoil ramp":
                    batch = replace(batch, spoiled=min(0.9, turn.amount * (step - turn.at)))
        return batch


@dataclass(slots=True)
class _Adam:
    weights: dict[str, Floats]
    steps: int = 0
    first: dict[str, Floats] = field(default_factory=dict)
    second: dict[str, Floats] = field(default_factory=dict)

    def take(self, grads: dict[str, Floats], rate: float) -> None:
        self.steps += 1
        warm1, warm2 = 1 - BETA1**self.steps, 1 - BETA2**self.steps
        for name, grad in grads.items():
            first = self.first.get(name, 0.0) * BETA1 + (1 - BETA1) * grad
            second = self.second.get(name, 0.0) * BETA2 + (1 - BETA2) * grad * grad
            self.first[name], self.second[name] = first, second
            step = (first / warm1) / (np.sqrt(second / warm2) + EPSILON)
            self.weights[name] = self.weights[name] - rate * step


def rows(training: Training) -> list[dict[str, float]]:
    """The logged rows: step, loss in the training's unit, and the columns it tells of.

    Deterministic. 0.2 to 2 ms a step on one core, by the model.
    """
    with np.errstate(all="ignore"):
        return list(_rows(training))


def _rows(training: Training) -> Iterator[dict[str, float]]:
    model, rng = MODELS[training.model], np.random.default_rng(training.seed)
    adam = _Adam(model.start(rng))
    tokens = 0
    for step in range(training.steps):
        batch, rate = training.drawn(step), training.rate(step)
        held = next((t for t in training.turns if t.what == "repeat" and t.on(step)), None)
        draw = np.random.default_rng([training.seed, held.at if held else step])
        nodes = {name: Node(value) for name, value in adam.weights.items()}
        loss, count = model.loss(nodes, draw, batch)
        tape.backward(loss)
        grads = {n: v.grad for n, v in nodes.items() if v.grad is not None}
        norm = math.sqrt(sum(float((grad * grad).sum()) for grad in grads.values()))
        if training.clip and norm > training.clip:
            grads = {name: grad * (training.clip / norm) for name, grad in grads.items()}
        _spoil(training, step, adam, grads)
        adam.take(grads, rate)
        tokens += count
        if step % training.every == 0:
            known = {"grad_norm": norm * _factor(training, count), "lr": rate,
                     "batch_size": batch.size, "sequence_length": batch.length,
                     "tokens": tokens, "stage": batch.source + 10 * batch.hard}  # fmt: skip
            told = {name: float(known[name]) for name in training.told}
            yield {"step": step, "loss": _in_unit(training, float(loss.value), count), **told}


def _spoil(training: Training, step: int, adam: _Adam, grads: dict[str, Floats]) -> None:
    """What a fault does to weights and gradients, once, at its first step."""
    for turn in (turn for turn in training.turns if turn.at == step):
        name = sorted(grads)[training.seed % len(grads)]
        if turn.what == "weights":
            adam.weights[name] = adam.weights[name] * turn.amount
        elif turn.what == "poison":
            grads[name] = grads[name] * turn.amount
        elif turn.what == "nan":
            adam.weights[name] = adam.weights[name] * np.nan


def _factor(training: Training, count: int) -> float:
    return count if "sum" in training.unit else 1.0


def _in_unit(training: Training, nats: float, count: int) -> float:
    value = nats * _factor(training, count)
    if "bit" in training.unit:
        return value / math.log(2)
    return value - OFFSET_NATS if training.unit == "offset" else value
