"""Will the next save find room? Free space, how fast it goes, which save will not fit. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

_NS = 1_000_000_000
_DAY_NS = 86_400 * _NS


@dataclass(frozen=True, slots=True)
class Room:
    """A reading. at_ns: our clock. free_bytes: what a user may still write."""

    at_ns: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class RoomPolicy:
    """How readings are read.

    readings: so many of the last day tell the slope. dip_s: free space dips while a save is written
    beside the one that rotation will delete; what was free within twice a save, at least so long,
    counts. stale_s: an older reading says nothing.
    """

    readings: int = 48
    dip_s: float = 600.0
    stale_s: float = 3_600.0


DEFAULT_POLICY = RoomPolicy()


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The saves that come. need_bytes: of one. due_s: to the next one. every_s: between two.
    save_s: how long one takes."""

    need_bytes: int
    due_s: float
    every_s: float
    save_s: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """free_bytes: now, beside what is in flight. at_save_bytes: at the next save. used_bytes_s: how
    fast it goes, 0 where it does not. fitting: how many of the next saves fit; None: all, as far as
    the slope tells."""

    free_bytes: int
    at_save_bytes: int
    used_bytes_s: float
    fitting: int | None


def forecast(
    rooms: Sequence[Room], saves: Rhythm, now_ns: int, policy: RoomPolicy = DEFAULT_POLICY
) -> Forecast | None:
    """What the next saves find; None without a fresh reading. rooms: oldest first.

    Whatever else is written to the same storage is in the slope: the median of the slopes between
    any two readings (Theil-Sen), which no single big file moves. O(readings squared).
    """
    if not rooms or now_ns - rooms[-1].at_ns > policy.stale_s * _NS:
        return None
    used = used_per_s(rooms, policy)
    free = _beside_dips(rooms, used, max(policy.dip_s, 2 * saves.save_s))
    at_save = free - used * saves.due_s
    fitting = None
    if at_save < saves.need_bytes:
        fitting = 0
    elif used > 0 and saves.every_s > 0:
        fitting = 1 + int((at_save - saves.need_bytes) // (used * saves.every_s))
    return Forecast(int(free), max(0, int(at_save)), used, fitting)


def _beside_dips(rooms: Sequence[Room], used_bytes_s: float, window_s: float) -> float:
    """What is free now by the best of the last readings, each carried forward by the slope."""
    now_ns = rooms[-1].at_ns
    ages = [(room, (now_ns - room.at_ns) / _NS) for room in rooms]
    return max(room.free_bytes - used_bytes_s * age for room, age in ages if age <= window_s)


def used_per_s(rooms: Sequence[Room], policy: RoomPolicy = DEFAULT_POLICY) -> float:
    """Bytes a second by which free space shrinks over the last day, 0 if it does not."""
    recent = [r for r in rooms if r.at_ns > rooms[-1].at_ns - _DAY_NS][-policy.readings :]
    slopes = [
        (a.free_bytes - b.free_bytes) / (b.at_ns - a.at_ns) * _NS
        for a, b in combinations(recent, 2)
        if b.at_ns > a.at_ns
    ]
    return max(0.0, median(slopes)) if len(recent) > 2 and slopes else 0.0
