"""Five kinds of small networks and the made-up data that they learn.

A model draws a batch and gives its loss in nats (the mean over predictions). `Batch.hard`, from 0
to 1, is how much of the data is harder than the rest (a curriculum), `source` which data it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from workers.benches.trainings import tape
from workers.benches.trainings.tape import Floats, Ints, Node

Weights = Mapping[str, Node]
VOCAB = 24
CLASSES = 10
PIXELS = 36
EXPERTS = 4


@dataclass(frozen=True, slots=True)
class Batch:
    """What to draw. spoiled: the share of targets that are noise."""

    size: int
    length: int = 8
    source: int = 0
    hard: float = 0.0
    spoiled: float = 0.0


class Model(Protocol):
    """A network and its data."""

    def start(self, rng: np.random.Generator) -> dict[str, Floats]:
        """Its weights before training."""
        ...

    def loss(self, weights: Weights, rng: np.random.Generator, batch: Batch) -> tuple[Node, int]:
        """The mean loss of a fresh batch, and over how many predictions."""
        ...


def _matrix(rng: np.random.Generator, rows: int, columns: int, gain: float = 1.0) -> Floats:
    return np.asarray(gain * rng.standard_normal((rows, columns)) / np.sqrt(rows))


def chain(source: int) -> Floats:
    """Next-token probabilities (VOCAB, VOCAB, VOCAB) of a language, given the last two tokens."""
    rng = np.random.default_rng(1_000 + source)
    logits = rng.standard_normal((VOCAB, VOCAB, VOCAB))
    logits = 2.2 * logits + 1.5 * rng.standard_normal((1, VOCAB, VOCAB))
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(np.cumsum(odds / odds.sum(axis=-1, keepdims=True), axis=-1))


CHAINS: dict[int, Floats] = {}


def text(rng: np.random.Generator, batch: Batch) -> Ints:
    """Token ids (length + 2, size). Hard text is of a second language."""
    for source in (batch.source, batch.source + 50):
        if source not in CHAINS:
            CHAINS[source] = chain(source)
    easy, hard = CHAINS[batch.source], CHAINS[batch.source + 50]
    tokens = np.empty((batch.length + 2, batch.size), dtype=np.int64)
    tokens[:2] = rng.integers(0, VOCAB, (2, batch.size))
    is_hard = rng.random(batch.size) < batch.hard
    for at in range(2, batch.length + 2):
        one, two = tokens[at - 2], tokens[at - 1]
        odds = np.where(is_hard[:, None], hard[one, two], easy[one, two])
        tokens[at] = np.minimum((odds < rng.random((batch.size, 1))).sum(axis=1), VOCAB - 1)
        noise = rng.random(batch.size) < batch.spoiled
        tokens[at] = np.where(noise, rng.integers(0, VOCAB, batch.size), tokens[at])
    return tokens


class Gru:
    """A recurrent language model."""

    def __init__(self, width: int = 24) -> None:
        self.width = width

    def start(self, rng: np.random.Generator) -> dict[str, Floats]:
        """Embedding, gates, head."""
        n = self.width
        gates = {f"{part}{gate}": _matrix(rng, n, n) for part in "wu" for gate in "zrh"}
        return {"embed": _matrix(rng, VOCAB, n, 3.0), "head": _matrix(rng, n, VOCAB), **gates}

    def loss(self, weights: Weights, rng: np.random.Generator, batch: Batch) -> tuple[Node, int]:
        """Cross entropy of every next token."""
        tokens = text(rng, batch)
        state = Node(np.zeros((batch.size, self.width)))
        states = []
        for at in range(1, batch.length + 1):
            seen = tape.rows_of(weights["embed"], tokens[at])
            update = tape.sigmoid(seen @ weights["wz"] + state @ weights["uz"])
            reset = tape.sigmoid(seen @ weights["wr"] + state @ weights["ur"])
            fresh = tape.tanh(seen @ weights["wh"] + (reset * state) @ weights["uh"])
            keep = Node(np.asarray(1.0)) + update * Node(np.asarray(-1.0))
            state = keep * state + update * fresh
            states.append(state)
        logits = tape.stacked(states) @ weights["head"]
        return tape.cross_entropy(logits, tokens[2:].reshape(-1)), tokens[2:].size


class Tied:
    """A language model of the last two tokens whose head is its embedding."""

    def __init__(self, width: int = 32) -> None:
        self.width = width

    def start(self, rng: np.random.Generator) -> dict[str, Floats]:
        """One embedding, two layers."""
        n = self.width
        return {
            "embed": _matrix(rng, VOCAB, n, 1.5),
            "one": _matrix(rng, n, n),
            "two": _matrix(rng, n, n),
            "mix": _matrix(rng, n, n, 1.4),
        }

    def hidden(self, weights: Weights, tokens: Ints) -> Node:
        """(predictions, width) before the last layer."""
        first = tape.rows_of(weights["embed"], tokens[:-2].reshape(-1))
        second = tape.rows_of(weights["embed"], tokens[1:-1].reshape(-1))
        return tape.relu(first @ weights["one"] + second @ weights["two"])

    def loss(self, weights: Weights, rng: np.random.Generator, batch: Batch) -> tuple[Node, int]:
        """Cross entropy of every next token."""
        tokens = text(rng, batch)
        out = tape.tanh(self.hidden(weights, tokens) @ weights["mix"])
        logits = out @ tape.transposed(weights["embed"])
        return tape.cross_entropy(logits, tokens[2:].reshape(-1)), tokens[2:].size


class Experts(Tied):
    """The same with a mixture of experts in the middle and a head of its own."""

    def start(self, rng: np.random.Generator) -> dict[str, Floats]:
        """The tied model's weights, a router, experts and a head."""
        n = self.width
        experts = {f"expert{at}": _matrix(rng, n, n) for at in range(EXPERTS)}
        own = {"route": _matrix(rng, n, EXPERTS), "head": _matrix(rng, n, VOCAB)}
        tied = super().start(rng)
        del tied["mix"]
        return {**tied, **experts, **own}

    def loss(self, weights: Weights, rng: np.random.Generator, batch: Batch) -> tuple[Node, int]:
        """Cross entropy of every next token; all experts answer, the router weighs them."""
        tokens = text(rng, batch)
        hidden = self.hidden(weights, tokens)
        share = tape.softmax(hidden @ weights["route"])
        out = tape.column(share, 0) * (hidden @ weights["expert0"])
        for at in range(1, EXPERTS):
            out = out + tape.column(share, at) * (hidden @ weights[f"expert{at}"])
        logits = tape.tanh(out) @ weights["head"]
        return tape.cross_entropy(logits, tokens[2:].reshape(-1)), tokens[2:].size


class Images:
    """A classifier of small pictures; its loss comes close to zero."""

    def __init__(self, width: int = 32, blur: float = 1.0) -> None:
        self.width, self.blur = width, blur

    def start(self, rng: np.random.Generator) -> dict[str, Floats]:
        """Two layers and a head."""
        n = self.width
        return {
            "one": _matrix(rng, PIXELS, n, 1.4),
            "two": _matrix(rng, n, n, 1.4),
            "head": _matrix(rng, n, CLASSES, 0.3),
        }

    def loss(self, weights: Weights, rng: np.random.Generator, batch: Batch) -> tuple[Node, int]:
        """Cross entropy of the class."""
        world = np.random.default_rng(77 + batch.source)
        shapes = 2 * world.standard_normal((CLASSES, PIXELS))
        target = rng.integers(0, CLASSES, batch.size)
        blur = self.blur * (1 + 1.5 * (rng.random(batch.size) < batch.hard))
        pixels = shapes[target] + blur[:, None] * rng.standard_normal((batch.size, PIXELS))
        noise = rng.random(batch.size) < batch.spoiled
        target = np.where(noise, rng.integers(0, CLASSES, batch.size), target)
        hidden = tape.relu(Node(pixels) @ weights["one"])
        hidden = tape.relu(hidden @ weights["two"])
        return tape.cross_entropy(hidden @ weights["head"], target), batch.size


class Density:
    """A regression that gives a mean and a spread; its loss crosses zero."""

    def __init__(self, width: int = 24) -> None:
        self.width = width

    def start(self, rng: np.random.Generator) -> dict[str, Floats]:
        """A layer and two heads."""
        n = self.width
        heads = {"mean": _matrix(rng, n, 1), "spread": _matrix(rng, n, 1, 0.1)}
        return {"one": _matrix(rng, 6, n, 1.4), "two": _matrix(rng, n, n, 1.4), **heads}

    def loss(self, weights: Weights, rng: np.random.Generator, batch: Batch) -> tuple[Node, int]:
        """Negative log density of the target."""
        world = np.random.default_rng(99 + batch.source)
        seen = rng.standard_normal((batch.size, 6))
        target = np.sin(0.6 * seen @ world.standard_normal((6, 1)))
        target += (0.05 + 0.2 * batch.hard) * rng.standard_normal(target.shape)
        noise = rng.random(target.shape) < batch.spoiled
        target = np.where(noise, rng.standard_normal(target.shape), target)
        hidden = tape.tanh(tape.tanh(Node(seen) @ weights["one"]) @ weights["two"])
        mean, spread = hidden @ weights["mean"], hidden @ weights["spread"]
        return tape.gaussian_loss(mean, spread, target), batch.size


MODELS: dict[str, Model] = {
    "gru": Gru(),
    "tied": Tied(),
    "experts": Experts(),
    "images": Images(),
    "blurred images": Images(blur=3.0),
    "density": Density(),
}
