"""What differs between the configurations of two attempts, and whether two runs read alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_NAMES = 20_000
MAX_DEPTH = 6
MAX_SHOWN = 50
_MAX_TEXT = 60

_STEERING = re.compile(
    r"(^|[._/-])(lr|learning|beta|eps|clip|decay|warm|optim|sched|momentum|batch|bs|accum|seq|ctx"
    r"|len|dtype|precision|bf16|fp16|fp8|scale|dropout|init|loss|norm|seed)"
)
"""Names that steer the optimisation: a change of one may move the loss."""
_ORDER = re.compile(r"(^|[._/-])(seed|data|dataset|shuffle|batch|bs|micro|accum|seq|ctx|tokens)")
"""Names that decide which data a step reads."""
_OF_A_START = re.compile(
    r"^_?wandb([./]|$)|(^|[._/-])((resume|restart|restore|output|logging|host|addr|slurm|save|ckpt"
    r"|checkpoint|timestamp|world|master)|(run|exp|name|id|dir|out|path|port|rank|time|date|pid|job"
    r"|log|stop)s?($|[._/-]))"
)
"""Names that differ with every start and move nothing."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One name with two values, in words; steering: it steers the optimisation."""

    name: str
    before: str
    after: str
    steering: bool

    @property
    def text(self) -> str:
        """ "optimizer.lr: 0.0006 → 0.024"."""
        return f"{self.name}: {self.before} → {self.after}"


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Changed, ...]:
    """What the later configuration says otherwise, names that steer first, then by name.

    Nested names are joined by dots. Left out: names of a single start (paths, ids, ranks), and
    those that only one of the two says: programs add some of their own. At most MAX_SHOWN.
    """
    old = dict(_flat(before))
    found = [
        Changed(name, _text(old[name]), _text(value), bool(_STEERING.search(name.lower())))
        for name, value in _flat(after)
        if name in old and old[name] != value and not _OF_A_START.search(name.lower())
    ]
    return tuple(sorted(found, key=lambda c: (not c.steering, c.name))[:MAX_SHOWN])


def same_order(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool | None:
    """Whether two runs say the same of seed, batch and data; None if they have no such name in
    common. What nobody logs may still differ."""
    flat, rest = dict(_flat(one)), dict(_flat(other))
    names = [
        name
        for name in flat
        if name in rest and _ORDER.search(name.lower()) and not _OF_A_START.search(name.lower())
    ]
    return all(flat[name] == rest[name] for name in names) if names else None


def commit_of(config: Mapping[str, Any]) -> str:
    """The git commit that a `wandb` client sent; "" if none."""
    said = config.get("wandb/commit")
    return said if isinstance(said, str) else ""


def _flat(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of every leaf, at most MAX_NAMES; deeper parts stay one value."""
    todo: list[tuple[str, Any, int]] = [(str(k), v, 1) for k, v in reversed(list(config.items()))]
    for _ in range(MAX_NAMES):
        if not todo:
            return
        name, value, depth = todo.pop()
        if isinstance(value, Mapping) and value and depth < MAX_DEPTH:
            todo += [(f"{name}.{k}", v, depth + 1) for k, v in reversed(list(value.items()))]
        else:
            yield name, value


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
