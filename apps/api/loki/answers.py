"""Answers in Loki's shapes. Values in, JSON-ready values out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.api.loki.fetching import Labels
from apps.logs.records import LogEntry

Series = tuple[Labels, NDArray[np.int64], NDArray[np.float64]]


def streams(lines: Sequence[tuple[Labels, LogEntry]]) -> list[dict[str, Any]]:
    """Lines grouped by their labels, in the order they came."""
    grouped: dict[Labels, list[list[str]]] = {}
    for labels, entry in lines:
        grouped.setdefault(labels, []).append([str(entry.time_ns), entry.text])
    return [{"stream": dict(labels), "values": values} for labels, values in grouped.items()]


def matrix(series: Iterable[Series]) -> list[dict[str, Any]]:
    """Series over time; a step without a line has no value, as in Loki."""
    found = []
    for labels, steps, values in series:
        some = np.nonzero(values)[0]
        if len(some):
            pairs = [[steps[at] / 1e9, _said(values[at])] for at in some]
            found.append({"metric": dict(labels), "values": pairs})
    return found


def vector(series: Iterable[Series]) -> list[dict[str, Any]]:
    """The value of each series at its last step."""
    return [
        {"metric": dict(labels), "value": [steps[-1] / 1e9, _said(values[-1])]}
        for labels, steps, values in series
        if values[-1]
    ]


def success(kind: str, result: list[Any], *, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """A whole answer; kind: streams, matrix or vector."""
    body: dict[str, Any] = {
        "status": "success",
        "data": {"resultType": kind, "result": result, "stats": {}},
    }
    if warnings:
        body["warnings"] = list(dict.fromkeys(warnings))
    return body


def _said(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
