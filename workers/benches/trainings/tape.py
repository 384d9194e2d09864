"""Reverse-mode differentiation of a few NumPy operations: enough for small networks.

Every operation gives a Node that knows its value and how to hand its gradient on to its inputs.
`backward` fills `grad` of every node a scalar depends on. Values are float64 arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Pull = Callable[[Floats], Floats]


class Node:
    """A value and where it came from."""

    __slots__ = ("grad", "inputs", "value")

    def __init__(self, value: Floats, inputs: Sequence[tuple[Node, Pull]] = ()) -> None:
        self.value = value
        self.inputs = inputs
        self.grad: Floats | None = None

    def __add__(self, other: Node) -> Node:
        return Node(
            self.value + other.value,
            [(self, _like(self.value)), (other, _like(other.value))],
        )

    def __mul__(self, other: Node) -> Node:
        mine, theirs = self.value, other.value
        return Node(
            mine * theirs,
            [
                (self, lambda up: _fit(up * theirs, mine.shape)),
                (other, lambda up: _fit(up * mine, theirs.shape)),
            ],
        )

    def __matmul__(self, other: Node) -> Node:
        mine, theirs = self.value, other.value
        return Node(
            mine @ theirs,
            [(self, lambda up: up @ theirs.T), (other, lambda up: mine.T @ up)],
        )


def transposed(node: Node) -> Node:
    """A matrix with its axes exchanged."""
    return Node(node.value.T, [(node, lambda up: up.T)])


def tanh(node: Node) -> Node:
    """Elementwise."""
    out = np.tanh(node.value)
    return Node(out, [(node, lambda up: up * (1 - out * out))])


def sigmoid(node: Node) -> Node:
    """Elementwise."""
    out = 0.5 * (1 + np.tanh(0.5 * node.value))
    return Node(out, [(node, lambda up: up * out * (1 - out))])


def relu(node: Node) -> Node:
    """Elementwise."""
    on = node.value > 0
    return Node(node.value * on, [(node, lambda up: up * on)])


def softmax(node: Node) -> Node:
    """Over the last axis."""
    out = np.exp(node.value - node.value.max(axis=-1, keepdims=True))
    out /= out.sum(axis=-1, keepdims=True)
    return Node(out, [(node, lambda up: out * (up - (up * out).sum(axis=-1, keepdims=True)))])


def column(node: Node, at: int) -> Node:
    """One column of a matrix, as a matrix of one column."""

    def pull(up: Floats) -> Floats:
        back = np.zeros_like(node.value)
        back[:, at : at + 1] = up
        return back

    return Node(node.value[:, at : at + 1], [(node, pull)])


def rows_of(table: Node, index: Ints) -> Node:
    """Rows of a table (an embedding), one for each index."""

    def pull(up: Floats) -> Floats:
        back = np.zeros_like(table.value)
        np.add.at(back, index, up)
        return back

    return Node(table.value[index], [(table, pull)])


def stacked(nodes: Sequence[Node]) -> Node:
    """Matrices on top of each other."""
    bounds = np.cumsum([0, *(len(node.value) for node in nodes)]).tolist()
    spans = [slice(a, b) for a, b in pairwise(bounds)]
    return Node(
        np.concatenate([node.value for node in nodes]),
        [(node, _cut(span)) for node, span in zip(nodes, spans, strict=True)],
    )


def cross_entropy(logits: Node, target: Ints) -> Node:
    """The mean over rows, in nats."""
    shifted = logits.value - logits.value.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1))
    at = np.arange(len(target))

    def pull(up: Floats) -> Floats:
        back = np.exp(shifted - log_sum[:, None])
        back[at, target] -= 1
        return np.asarray(up * back / len(target))

    return Node(np.asarray((log_sum - shifted[at, target]).mean()), [(logits, pull)])


def gaussian_loss(mean: Node, log_sd: Node, target: Floats) -> Node:
    """Negative log density of a normal distribution, the mean over rows: below zero when good."""
    sd = np.exp(log_sd.value)
    z = (target - mean.value) / sd
    n = target.size
    value = np.asarray((0.5 * z * z + log_sd.value).mean() + 0.5 * np.log(2 * np.pi))
    return Node(
        value,
        [(mean, lambda up: -up * z / sd / n), (log_sd, lambda up: up * (1 - z * z) / n)],
    )


def backward(loss: Node) -> None:
    """Fills `grad` of everything a scalar depends on."""
    order: list[Node] = []
    seen: set[int] = set()
    todo: list[tuple[Node, bool]] = [(loss, False)]
    while todo:
        node, done = todo.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            todo.append((node, True))
            todo += [(source, False) for source, _ in node.inputs]
    loss.grad = np.asarray(1.0)
    for node in reversed(order):
        up = node.grad
        assert up is not None  # noqa: S101 - what comes behind it has been there
        for source, pull in node.inputs:
            part = pull(up)
            source.grad = part if source.grad is None else source.grad + part


def _like(value: Floats) -> Pull:
    return lambda up: _fit(up, value.shape)


def _cut(span: slice) -> Pull:
    return lambda up: up[span]


def _fit(up: Floats, shape: tuple[int, ...]) -> Floats:
    """Sum a gradient over the axes that were broadcast."""
    if up.shape == shape:
        return up
    for axis in range(up.ndim - len(shape)):
        del axis
        up = up.sum(axis=0)
    wide = tuple(at for at, size in enumerate(shape) if size == 1 and up.shape[at] != 1)
    return up.sum(axis=wide, keepdims=True) if wide else up
