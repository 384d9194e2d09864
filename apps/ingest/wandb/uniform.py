"""History lines of one shape as one grid. Pure.

Nearly all bodies are like that: every line has the same names, and all values are plain numbers.
What is read here comes out as it would line by line (`lines.history_rows`), in half the time: a
line is gone again before the next one is decoded, so that all of it stays in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from struct import Struct
from typing import Final

import msgspec
import numpy as np

from apps.core.grid import Floats, Grid
from apps.ingest.wandb.extras import EXACT
from apps.ingest.wandb.values import LAST_TIME_S, Names, loads

_OWN: Final = ("_step", "_timestamp", "_runtime")
_FIRST_TIME_S: Final = 2**23
"""From here on doubles lie further apart than nanoseconds: a time in whole ones gives the double
back that it was made of."""


def uniform_rows(lines: Sequence[str], names: Names) -> Grid | None:
    """The rows of the lines; None if a line has other names than the first, no step, no time of
    today, or a value that is no number or that a double does not hold."""
    first = loads(lines[0]) if lines else None
    if not isinstance(first, dict) or not first.keys() >= {"_step", "_timestamp"}:
        return None
    metrics = tuple(key for key in first if key not in _OWN)
    if not metrics or not all(
        key and names[key.encode("utf-8", "replace")] == key for key in metrics
    ):
        return None
    taken = _matrix(lines, [*metrics, *(key for key in _OWN if key in first)])
    if taken is None:
        return None
    values, own = np.split(taken, [len(metrics)], axis=1)
    step, stamp, *runtime = own.T
    if not (_are_steps(step) and _are_times(stamp)):
        return None
    return Grid(
        metrics,
        values,
        steps=step.astype(np.int64).tolist(),
        times_ns=_nanoseconds(stamp),
        beside=dict(zip(("r",), runtime, strict=False)),
    )


class _Row(msgspec.Struct, array_like=True):
    """Only numbers convert to it; neither a boolean nor a text is one."""

    values: list[float]


def _matrix(lines: Sequence[str], names: Sequence[str]) -> Floats | None:
    """float64[n, k]; None if a line has not just these names, or other values than numbers that a
    double holds."""
    pick, pack = itemgetter(*names), Struct(f"{len(names)}d").pack

    def packed() -> Iterator[bytes]:
        for line in lines:
            found = loads(line)
            if len(found) != len(names):
                raise KeyError
            yield pack(*msgspec.convert((pick(found),), _Row).values)

    try:
        # Three times as fast as np.array; a whole number becomes a double here.
        flat = np.frombuffer(b"".join(packed()))
    except (KeyError, TypeError, msgspec.ValidationError):
        return None
    if bool(((np.abs(flat) >= EXACT) & np.isfinite(flat)).any()):
        return None
    return flat.reshape(-1, len(names))


def _are_steps(values: Floats) -> bool:
    """Whether `values.step_of` takes all of them; False also beyond the whole doubles."""
    return bool(((values >= 0) & (values < EXACT) & (values == np.floor(values))).all())


def _are_times(seconds: Floats) -> bool:
    return bool(((seconds >= _FIRST_TIME_S) & (seconds < LAST_TIME_S)).all())


def _nanoseconds(seconds: Floats) -> list[int]:
    """As `values.nanoseconds`, of all."""
    whole = np.floor(seconds)
    time_ns = whole.astype(np.int64) * 1_000_000_000
    time_ns += np.rint((seconds - whole) * 1e9).astype(np.int64)
    found: list[int] = time_ns.tolist()
    return found
