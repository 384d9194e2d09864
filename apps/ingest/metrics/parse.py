"""Metric rows as plain JSON, for anything that can POST. Plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from typing import Any, TypeGuard

import orjson

from apps.core.errors import BadPayload
from apps.core.records import MetricRow
from apps.ingest import frames

MAX_ROWS = 100_000
MAX_KEYS = 20_000
MAX_KEY_CHARS = 500
MAX_STEP = 2**62
_SPECIALS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


@dataclass(frozen=True, slots=True)
class MetricBatch:
    """Rows in the order they were sent. attempt None: the newest."""

    attempt: int | None
    rows: tuple[MetricRow, ...]


def parse(body: bytes, *, received_ns: int) -> MetricBatch:
    """The rows of a body. A row without time_ns gets received_ns.

    Bare NaN/Infinity tokens and the strings "NaN", "Infinity", "-Infinity" are values. Raises
    BadPayload with the path of the first thing that is wrong; nothing is taken from such a body.
    """
    found = _json(body)
    rows = found.get("rows") if isinstance(found, dict) else None
    if not isinstance(rows, list) or len(rows) > MAX_ROWS:
        raise BadPayload(
            f"rows must be a list of at most {MAX_ROWS}",
            where="rows",
            hint='{"rows": [{"step": 1}]}',
        )
    attempt = found.get("attempt")
    if attempt is not None and not (_whole(attempt) and 0 <= attempt < 2**31):
        raise BadPayload(f"{attempt!r} is not an attempt", where="attempt", hint="0, 1, 2 ...")
    return MetricBatch(attempt, tuple(_rows(rows, received_ns)))


def _rows(rows: list[Any], received_ns: int) -> Iterator[MetricRow]:
    names: set[str] = set()
    for at, row in enumerate(rows):
        read = _row(row, f"rows[{at}]", received_ns)
        names.update(read.values)
        check_names(names, f"rows[{at}].values")
        yield read


def check_names(names: Sized, where: str) -> None:
    """Raises BadPayload for a body with more than MAX_KEYS different names."""
    if len(names) > MAX_KEYS:
        raise BadPayload(
            f"more than {MAX_KEYS} different names in a body",
            where=where,
            hint="is a number part of the names?",
        )


def _json(body: bytes) -> Any:
    frames.weigh(body)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"not JSON: {error}", where="body") from error


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _row(row: Any, where: str, received_ns: int) -> MetricRow:
    if not isinstance(row, dict):
        raise BadPayload("a row must be an object", where=where)
    step, time_ns, rank = row.get("step"), row.get("time_ns", received_ns), row.get("rank")
    if not _whole(step) or not 0 <= step <= MAX_STEP:
        raise BadPayload(f"{step!r} is not a step", where=f"{where}.step", hint="0, 1, 2 ...")
    if not _whole(time_ns) or not 0 <= time_ns < 2**63:
        raise BadPayload(f"{time_ns!r} is not Unix nanoseconds", where=f"{where}.time_ns")
    if rank is not None and (not _whole(rank) or not 0 <= rank < 2**31):
        raise BadPayload(f"{rank!r} is not a rank", where=f"{where}.rank")
    return MetricRow(step, time_ns, _values(row.get("values"), f"{where}.values"), rank)


def _values(values: Any, where: str) -> Mapping[str, float]:
    if not isinstance(values, dict) or len(values) > MAX_KEYS:
        raise BadPayload(f"values must be an object of at most {MAX_KEYS} keys", where=where)
    return {_key(key, where): _number(value, f"{where}[{key!r}]") for key, value in values.items()}


def _key(key: str, where: str) -> str:
    if not key or len(key) > MAX_KEY_CHARS or "\0" in key:
        raise BadPayload(f"a key has 1-{MAX_KEY_CHARS} characters, no NUL", where=where)
    return key


def _number(value: Any, where: str) -> float:
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if isinstance(value, str) and value in _SPECIALS:
        return _SPECIALS[value]
    raise BadPayload(
        f"{str(value)[:80]!r} is not a number", where=where, hint='numbers, "NaN" or "Infinity"'
    )
