"""The filters and orders of `wandb.Api().runs` over plain facts of runs. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.core.errors import BadPayload

Facts = Mapping[str, Any]
"""Names of W&B -> value; config and summary_metrics are objects."""
MAX_CONDITIONS: Final = 100
MAX_DEPTH: Final = 8
MAX_CHARS: Final = 200_000
_ALIASES: Final = {
    "displayName": "display_name",
    "createdAt": "created_at",
    "heartbeatAt": "heartbeat_at",
    "jobType": "job_type",
    "group": "group",
    "summaryMetrics": "summary_metrics",
    "summary": "summary_metrics",
    "user.username": "username",
}
NAMES: Final = frozenset(
    {"name", "display_name", "state", "created_at", "heartbeat_at", "group", "job_type", "tags"}
    | {"notes", "commit", "host", "program", "username", "sweep"}
)
_OBJECTS: Final = ("config", "summary_metrics")
_SIMPLE_PATTERN: Final = re.compile(r"\^?(?:[^\\()|{}\[\]*+?^$]|\\[^A-Za-z0-9])*(?:\.\*)?"
                                    r"(?:[^\\()|{}\[\]*+?^$]|\\[^A-Za-z0-9])*\$?")  # fmt: skip
"""A regular expression that no text can make slow: at most one `.*`, nothing else repeats."""


def parse_filters(text: str) -> Callable[[Facts], bool]:
    """The test that the filters make; BadPayload for what is not known, never a wrong answer."""
    try:
        found = json.loads(text[:MAX_CHARS] or "{}")
        conditions = _conditions(found)
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"is not JSON ({error})", where="filters") from None
    if conditions > MAX_CONDITIONS:
        raise BadPayload(f"more than {MAX_CONDITIONS} conditions", where="filters")
    return _all_of(found, 0)


def _conditions(found: Any) -> int:
    """How many names the filters hold: each is looked at for each run."""
    if isinstance(found, dict):
        return len(found) + sum(map(_conditions, found.values()))
    return sum(map(_conditions, found)) if isinstance(found, list) else 0


def _all_of(found: Any, depth: int) -> Callable[[Facts], bool]:
    if not isinstance(found, dict) or depth > MAX_DEPTH:
        raise BadPayload("must be a small object of conditions", where="filters")
    tests = [_condition(name, wanted, depth) for name, wanted in found.items()]
    return lambda facts: all(test(facts) for test in tests)


def _condition(name: str, wanted: Any, depth: int) -> Callable[[Facts], bool]:
    if name in ("$and", "$or", "$nor"):
        if not isinstance(wanted, list) or len(wanted) > MAX_CONDITIONS:
            raise BadPayload("must be a list of conditions", where=f"filters.{name}")
        tests = [_all_of(one, depth + 1) for one in wanted]
        if name == "$and":
            return lambda facts: all(test(facts) for test in tests)
        return lambda facts: any(test(facts) for test in tests) == (name == "$or")
    if name == "$not":
        test = _all_of(wanted, depth + 1)
        return lambda facts: not test(facts)
    return _field(name, wanted)


def _field(name: str, wanted: Any) -> Callable[[Facts], bool]:
    value_of = reader(name)
    if not (isinstance(wanted, dict) and any(key.startswith("$") for key in wanted)):
        return lambda facts: _equal(value_of(facts), wanted)
    tests = [_operator(name, operator, operand) for operator, operand in wanted.items()]
    return lambda facts: all(test(value_of(facts)) for test in tests)


def reader(name: str) -> Callable[[Facts], Any]:
    """How a field of the filters or the order is found among the facts; BadPayload if unknown."""
    name = _ALIASES.get(name, name)
    if name in NAMES:
        return lambda facts: facts.get(name)
    head, _, rest = name.partition(".")
    head = _ALIASES.get(head, head)
    if head not in _OBJECTS or not rest:
        raise BadPayload(
            f'unknown field "{name[:100]}"',
            where="filters",
            hint=f"use {', '.join(sorted(NAMES))}, config.NAME or summary_metrics.NAME",
        )
    return lambda facts: _inside(facts.get(head), rest)


def _inside(found: Any, name: str) -> Any:
    """The value at a dotted name, whose dots may also be part of it; None if there is none."""
    if not isinstance(found, Mapping):
        return None
    if name in found:
        return found[name]
    if name.endswith(".value"):
        return _inside(found, name.removesuffix(".value"))
    head, _, rest = name.partition(".")
    return _inside(found.get(head), rest) if rest else None


def _operator(name: str, operator: str, operand: Any) -> Callable[[Any], bool]:
    if operator in _COMPARISONS:
        compare = _COMPARISONS[operator]
        return lambda value: _comparable(value, operand) and compare(value, operand)
    if operator in ("$eq", "$ne"):
        return lambda value: _equal(value, operand) == (operator == "$eq")
    if operator in ("$in", "$nin") and isinstance(operand, list):
        test = _one_of(operand)
        return lambda value: test(value) == (operator == "$in")
    if operator == "$exists":
        return lambda value: (value is not None) == bool(operand)
    if operator == "$regex" and isinstance(operand, str) and len(operand) <= 200:
        if not _SIMPLE_PATTERN.fullmatch(operand):
            hint = "use letters, ^, $, one .*"
            raise BadPayload("is too rich a pattern", where=f"filters.{name[:100]}", hint=hint)
        pattern = re.compile(operand)
        return lambda value: isinstance(value, str) and pattern.search(value[:1_000]) is not None
    raise BadPayload(f'unknown operator "{operator[:40]}"', where=f"filters.{name[:100]}")


def _one_of(wanted: list[Any]) -> Callable[[Any], bool]:
    """Whether a value, or one of its elements, equals one of these; each is looked up at once."""
    plain = frozenset(one for one in wanted if not isinstance(one, dict | list))
    rest = [one for one in wanted if isinstance(one, dict | list)]
    if len(rest) > MAX_CONDITIONS:
        raise BadPayload(f"more than {MAX_CONDITIONS} objects", where="filters")

    def test(value: Any) -> bool:
        parts = value if isinstance(value, list) else [value]
        known = any(not isinstance(one, dict | list) and one in plain for one in parts)
        return known or any(_equal(value, one) for one in rest)

    return test


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda a, b: bool(a > b),
    "$gte": lambda a, b: bool(a >= b),
    "$lt": lambda a, b: bool(a < b),
    "$lte": lambda a, b: bool(a <= b),
}


def _comparable(a: Any, b: Any) -> bool:
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return numbers or (isinstance(a, str) and isinstance(b, str))


def _equal(value: Any, wanted: Any) -> bool:
    """A list (tags) equals what it holds, as in the query language that W&B borrowed."""
    if isinstance(value, list) and not isinstance(wanted, list):
        return wanted in value
    return bool(value == wanted)


def sort_key(order: str) -> tuple[Callable[[Facts], Any], bool]:
    """What to sort by, and whether downwards. Runs without the value come last upwards."""
    name = order.lstrip("+-") or "created_at"
    value_of = reader(name)

    def key(facts: Facts) -> tuple[int, Any]:
        value = value_of(facts)
        if isinstance(value, int | float) and value == value:
            return 0, value
        return (1, value) if isinstance(value, str) else (2, "")

    return key, order.startswith("-")
