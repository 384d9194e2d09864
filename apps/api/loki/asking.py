"""The parameters of Loki's query API: text in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.core.times import TIMES, read_time_ns
from apps.core.words import whole
from apps.logs.domain.query.logql import duration_ns
from apps.logs.domain.query.ranksets import BadQuery

HOUR_NS = 3600 * 10**9
DEFAULT_LIMIT = 100
MAX_LIMIT = 5_000
MAX_BUCKETS = 11_000
"""Loki's own limit of points a series."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question. start_ns is inclusive, end_ns is not, as in Loki."""

    query: str
    start_ns: int
    end_ns: int
    limit: int
    newest_first: bool
    step_ns: int


def read(given: Mapping[str, str], now_ns: int) -> Asked:
    """The question in these parameters; Loki's defaults where one is missing. Raises BadQuery."""
    end_ns = _time_ns(given, "end", now_ns)
    since_ns = duration_ns(given["since"]) if given.get("since") else HOUR_NS
    start_ns = _time_ns(given, "start", end_ns - since_ns)
    if start_ns >= end_ns:
        raise BadQuery("the end is not behind the start", where="start, end")
    limit = whole(given.get("limit") or str(DEFAULT_LIMIT), MAX_LIMIT)
    if not limit:
        raise BadQuery(f"ask for 1 to {MAX_LIMIT} lines", where="limit")
    direction = given.get("direction", "backward").lower()
    if direction not in ("backward", "forward"):
        raise BadQuery("it is backward or forward", where="direction")
    step_ns = _step_ns(given.get("step", ""), end_ns - start_ns)
    query = given.get("query", "")
    return Asked(query, start_ns, end_ns, limit, direction == "backward", step_ns)


def _step_ns(text: str, span_ns: int) -> int:
    """Seconds or a duration; about 250 steps if nothing is said, as in Loki."""
    if not text:
        return max(span_ns // 250 // 10**9, 1) * 10**9
    step_ns = duration_ns(text if text[-1:].isalpha() else f"{text}s")
    if span_ns // step_ns > MAX_BUCKETS:
        raise BadQuery(f"more than {MAX_BUCKETS} steps", where="step", hint="use a larger step")
    return step_ns


def _time_ns(given: Mapping[str, str], name: str, default_ns: int) -> int:
    text = given.get(name, "")
    time_ns = read_time_ns(text) if text else default_ns
    if time_ns is None:
        raise BadQuery(f'"{text[:40]}" is no time', where=name, hint=TIMES)
    return time_ns
