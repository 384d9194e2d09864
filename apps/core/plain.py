"""Records and numbers as plain JSON, which knows neither NaN nor infinity."""

from __future__ import annotations

import math
from typing import Any

import msgspec


def name_of(value: float) -> str:
    """A number that is not finite, by name: "NaN", "Infinity" or "-Infinity"."""
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def plain(value: Any) -> Any:
    """`value` with every non-finite float by its name; dicts, lists and tuples are walked."""
    if isinstance(value, float) and not math.isfinite(value):
        return name_of(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def packed(record: Any) -> Any:
    """A record, or a container of records, as what a JSON column holds.

    NumPy scalars become numbers, keys text. `msgspec.convert` gives the record back, with names
    where numbers were not finite.
    """
    return plain(msgspec.to_builtins(record, str_keys=True, enc_hook=_scalar))


def _scalar(value: Any) -> Any:
    return value.item()
