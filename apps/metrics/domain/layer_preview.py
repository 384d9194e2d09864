"""What the rules make of the names a project logs, before they are saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.metrics.domain.layer_keys import LayerKey, recogniser
from apps.metrics.domain.layer_rules import Rule


@dataclass(slots=True)
class Preview:
    """by_rule: pattern -> (name, reading) of the names it decides. unmatched: names no rule reads.
    conflicts: (name, what counts, what a later own rule says) where two own rules disagree.
    changed: names that the own rules read otherwise than the built-in ones do."""

    total: int
    by_rule: dict[str, list[tuple[str, LayerKey]]] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)
    conflicts: list[tuple[str, LayerKey, LayerKey]] = field(default_factory=list)
    changed: int = 0


def preview(names: Sequence[str], own: Sequence[Rule]) -> Preview:
    """What the rules make of the names of a project: see `Preview`. AppError names a bad rule."""
    reader = recogniser(tuple(own))
    before = recogniser()
    found = Preview(len(names))
    patterns = {rule.pattern for rule in own}
    for name in names:
        readings = list(reader.readings(name))
        if not readings:
            found.unmatched.append(name)
            continue
        first = readings[0]
        found.by_rule.setdefault(first.rule, []).append((name, first))
        rivals = [r for r in readings[1:] if r.rule in patterns and _says_else(first, r)]
        if first.rule in patterns and rivals:
            found.conflicts.append((name, first, rivals[0]))
        if first.rule in patterns:
            usual = before.recognise(name)
            found.changed += usual is None or _says_else(first, usual)
    return found


def _says_else(one: LayerKey, other: LayerKey) -> bool:
    return (one.words, one.stage) != (other.words, other.stage)
