"""How far the clock of each host is from the others', from lines that all print at the same step.

Ranks of a synchronous job end step k together, so what the hosts write beside it are readings of
their clocks at one moment. The clock of a host is off by the median over steps of (its time of
step k - the job's median of it). Of a host the time of its first rank counts: it is there with the
first line, batches merge it, and one slow rank does not move it.

The text and times of lines are never changed by this. Plain Python and NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KEPT = 120
"""Steps that are kept of a host, the newest: under 2 KB, so that its row is written in place."""
ENTRY_BYTES = 16
MIN_STEPS = 5
_MAD_TO_SIGMA = 1.4826
_MEDIAN_FACTOR = 1.2533
_RESOLUTIONS = (10**9, 10**6, 10**3)


@dataclass(frozen=True, slots=True)
class StepTimes:
    """When a host came to its steps: step, time_ns int64[n]; a step may stand there twice."""

    step: NDArray[np.int64]
    time_ns: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HostClock:
    """Clock of one host against the job's median. skew_ns > 0: it is ahead; None if fewer than
    MIN_STEPS steps are shared with other hosts. uncertainty_ns: one standard error of skew_ns, not
    less than half of what the stamps resolve. steps: how many were compared."""

    node: str
    skew_ns: int | None
    uncertainty_ns: int
    steps: int

    @property
    def apart(self) -> bool:
        """Whether the order of lines of this host and others is in doubt: off by more than 100 ms
        and three times the uncertainty."""
        off = abs(self.skew_ns or 0)
        return off > 100_000_000 and off > 3 * self.uncertainty_ns


def pack(first: Mapping[int, int]) -> bytes:
    """Step -> the first time of it, as entries of step and time, little endian int64, by step."""
    return np.array(sorted(first.items()), dtype="<i8").tobytes()


def unpack(body: bytes) -> StepTimes:
    """What pack() made, also of several bodies one after the other; a cut entry is left out."""
    whole = body[len(body) % ENTRY_BYTES :]
    entries = np.frombuffer(whole, dtype="<i8").reshape(-1, 2).astype(np.int64)
    return StepTimes(entries[:, 0], entries[:, 1])


def _first_times(times: StepTimes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    steps, place = np.unique(times.step, return_inverse=True)
    first = np.full(len(steps), np.iinfo(np.int64).max)
    np.minimum.at(first, place, times.time_ns)
    return steps, first


def host_clocks(hosts: Mapping[str, StepTimes]) -> list[HostClock]:
    """The clock of each host, by name. Steps that fewer than two hosts print are left out.

    With two hosts each is off by half of their difference: nobody knows who is right.
    """
    names = sorted(hosts)
    firsts = [_first_times(hosts[name]) for name in names]
    steps = _shared(step for step, _ in firsts)
    table = np.full((len(names), len(steps)), np.nan)
    base = min((int(first.min()) for _, first in firsts if len(first)), default=0)
    for row, (step, first) in zip(table, firsts, strict=True):
        known = np.isin(step, steps)
        row[np.searchsorted(steps, step[known])] = first[known] - base
    if not len(steps):
        return [HostClock(name, None, 0, 0) for name in names]
    off = table - np.nanmedian(table, axis=0)
    floor = _resolution_ns(firsts) // 2
    return [_clock(name, row[~np.isnan(row)], floor) for name, row in zip(names, off, strict=True)]


def _shared(steps: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Steps that at least two hosts print."""
    every = [*steps]
    if not every:
        return np.zeros(0, dtype=np.int64)
    found, count = np.unique(np.concatenate(every), return_counts=True)
    return found[count >= 2]


def _clock(name: str, off: NDArray[np.float64], floor_ns: int) -> HostClock:
    if len(off) < MIN_STEPS:
        return HostClock(name, None, 0, len(off))
    skew = float(np.median(off))
    spread = _MAD_TO_SIGMA * float(np.median(np.abs(off - skew)))
    error = _MEDIAN_FACTOR * spread / len(off) ** 0.5
    return HostClock(name, round(skew), max(round(error), floor_ns), len(off))


def _resolution_ns(firsts: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> int:
    """What the stamps resolve: a second, a millisecond, a microsecond, or less."""
    times = np.concatenate([first for _, first in firsts])
    return next((unit for unit in _RESOLUTIONS if not (times % unit).any()), 1)
