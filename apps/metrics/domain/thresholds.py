"""The thresholds of the loss detector, one by one: what they are, and a policy with other ones."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

from apps.core.errors import AppError
from apps.metrics.domain.spike_policy import SpikePolicy
from apps.metrics.domain.threshold_words import GROUPS, ORDERED, WORDS, Words

_SOURCE = re.compile(r"(?s)Source: (.+?)(?:\n\n|\Z)")
RANGE = 10.0
"""A threshold without words may be moved by this factor."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """slug: "up.open_z". whole: it counts something. source: where the default comes from."""

    slug: str
    group: str
    help: str
    unit: str
    default: float
    low: float
    high: float
    whole: bool
    source: str

    @property
    def name(self) -> str:
        """The last part of the slug in words."""
        return self.slug.rpartition(".")[2].replace("_", " ")


@cache
def thresholds() -> dict[str, Threshold]:
    """slug -> threshold, in the order of the policy."""
    return {one.slug: one for one in _walk(SpikePolicy(), "")}


def _walk(policy: Any, prefix: str) -> Iterator[Threshold]:
    nested = []
    for field in fields(policy):
        value = getattr(policy, field.name)
        if is_dataclass(value):
            nested.append((value, f"{prefix}{field.name}."))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield _threshold(type(policy), prefix + field.name, value)
    for value, path in nested:
        yield from _walk(value, path)


def _threshold(owner: type, slug: str, default: float) -> Threshold:
    group, _, name = slug.rpartition(".")
    words = WORDS.get(f"{owner.__name__}.{name}") or Words(
        name.replace("_", " "), "", default / RANGE, default * RANGE
    )
    return Threshold(
        slug=slug,
        group=GROUPS.get(group, group.replace("_", " ").replace(".", ", ").capitalize()),
        help=words.help,
        unit=words.unit,
        default=default,
        low=words.low,
        high=words.high,
        whole=isinstance(default, int),
        source=_source(owner),
    )


def _source(owner: type) -> str:
    """What the docstring of a policy says about the origin of its defaults; all of it if it does
    not say "Source:"."""
    text = inspect.getdoc(owner) or ""
    found = _SOURCE.search(text)
    return " ".join((found.group(1) if found else text).split())


def policy_with(values: Mapping[str, float]) -> SpikePolicy:
    """The default policy with other values; slugs that it no longer has are left out."""
    known = {slug: value for slug, value in values.items() if slug in thresholds()}
    changed: SpikePolicy = _replaced(SpikePolicy(), known)
    return changed


def _replaced(policy: Any, values: Mapping[str, float]) -> Any:
    nested: dict[str, dict[str, float]] = {}
    own: dict[str, Any] = {}
    for slug, value in values.items():
        head, dot, rest = slug.partition(".")
        if dot:
            nested.setdefault(head, {})[rest] = value
        else:
            own[head] = value
    own |= {head: _replaced(getattr(policy, head), inner) for head, inner in nested.items()}
    return replace(policy, **own)


def checked(values: Mapping[str, Any]) -> dict[str, float]:
    """What differs from the defaults; AppError names the threshold at fault and its range."""
    known = thresholds()
    found: dict[str, float] = {}
    for slug, value in values.items():
        if slug not in known:
            raise AppError(f'"{slug[:60]}" is no threshold', where="values")
        number = _number(known[slug], value)
        if number != known[slug].default:
            found[slug] = number
    for lower, upper in ORDERED:
        first, second = (found.get(s, known[s].default) for s in (lower, upper) if s in known)
        if first > second:
            raise AppError(f"must not be above {upper}, which is {second:g}", where=lower)
    return found


def _number(threshold: Threshold, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise AppError("that is no number", where=threshold.slug)
    if threshold.whole and value != int(value):
        raise AppError("that is no whole number", where=threshold.slug)
    if not threshold.low <= value <= threshold.high:
        raise AppError(
            f"{value:g} is out of its range",
            where=threshold.slug,
            hint=f"{threshold.low:g} to {threshold.high:g} {threshold.unit}".rstrip(),
        )
    return int(value) if threshold.whole else float(value)
