"""Where did the time of a run go? Its wall clock by category, from first start to now. Pure.

Goodput is the part that became progress which still counts. Categories follow those of Google's
ml-goodput-measurement (initialisation, checkpoint save, wasted progress, recovery), named as
people here say them. Redone steps are counted once: where they were trained in vain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import Final

_NS: Final = 1_000_000_000
STALL_RATIO: Final = 0.25
STALL_S: Final = 30.0
"""An interval this much longer than usual, and by so many seconds, was a stall: below it, what is
slower than usual is training. A save explains as much of it as it took."""


class Part(StrEnum):
    """What a stretch of time was.

    training: steps that still count. saving: training stood still for a save. starting: from a
    start to its first logged step. redone: steps that were given up. stalled: an attempt ran, and
    no step came, or far too slowly. waiting: no attempt ran.
    """

    TRAINING = "training"
    SAVING = "saving"
    STARTING = "starting"
    REDONE = "redone"
    STALLED = "stalled"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Launch:
    """One attempt. steps, times_ns: of logged rows, rising; one row may stand for many steps.

    started_ns, heard_ns: its start and its last sign of life. kept_until: its steps up to this one
    still count, None: all of them, below its first step: none. running: it may go on.
    """

    number: int
    started_ns: int
    heard_ns: int
    steps: Sequence[int] = ()
    times_ns: Sequence[int] = ()
    kept_until: int | None = None
    running: bool = False


@dataclass(frozen=True, slots=True)
class SavePause:
    """A save and for how long training stood still at most; None: nobody said, so any stall."""

    attempt: int
    step: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the wall clock."""

    start_ns: int
    end_ns: int
    part: Part
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Goodput:
    """Seconds by category; together the wall time."""

    seconds: Mapping[Part, float] = field(default_factory=dict)

    @property
    def wall_s(self) -> float:
        """All of it."""
        return sum(self.seconds.values())

    @property
    def ratio(self) -> float | None:
        """The part that is progress, 0 to 1; None before anything was seen."""
        return self.seconds.get(Part.TRAINING, 0.0) / self.wall_s if self.wall_s else None

    def of(self, part: Part) -> float:
        """Seconds of one category."""
        return self.seconds.get(part, 0.0)

    def gpu_hours(self, gpus: int | None) -> float | None:
        """What the wall time takes of so many GPUs; None while those are not known."""
        return self.wall_s / 3_600 * gpus if gpus else None

    def lost_gpu_hours(self, gpus: int | None) -> float | None:
        """Those of them that were no progress; None also before anything was seen."""
        hours, ratio = self.gpu_hours(gpus), self.ratio
        return None if hours is None or ratio is None else hours * (1 - ratio)


def stretches(launches: Sequence[Launch], saves: Iterable[SavePause], now_ns: int) -> list[Stretch]:
    """The wall clock from the first start to now, or to the end of the last attempt, without gaps.

    launches: by start. What an attempt said after the next one had started does not count twice.
    O(rows + saves).
    """
    pauses: dict[int, list[SavePause]] = {}
    for save in sorted(saves, key=lambda one: one.step):
        pauses.setdefault(save.attempt, []).append(save)
    ordered = sorted(launches, key=lambda one: (one.started_ns, one.number))
    found: list[Stretch] = []
    for place, launch in enumerate(ordered):
        last = place == len(ordered) - 1
        until_ns = now_ns if last else ordered[place + 1].started_ns
        heard_ns = until_ns if last and launch.running else min(launch.heard_ns, until_ns)
        found += _of_launch(launch, pauses.get(launch.number, []), heard_ns)
        if not last:
            since_ns = max(launch.started_ns, heard_ns)
            found.append(Stretch(since_ns, until_ns, Part.WAITING))
    return [one for one in found if one.end_ns > one.start_ns]


def account(
    found: Iterable[Stretch], since_ns: int | None = None, until_ns: int | None = None
) -> Goodput:
    """Seconds by category within a window; None: without that bound."""
    seconds = dict.fromkeys(Part, 0.0)
    for one in found:
        start = one.start_ns if since_ns is None else max(one.start_ns, since_ns)
        end = one.end_ns if until_ns is None else min(one.end_ns, until_ns)
        if end > start:
            seconds[one.part] += (end - start) / _NS
    return Goodput(seconds)


def weighted(runs: Iterable[tuple[Goodput, int]]) -> Goodput:
    """Goodput of many runs together, in GPU-seconds. runs: each with its GPUs."""
    seconds = dict.fromkeys(Part, 0.0)
    for one, gpus in runs:
        for part in Part:
            seconds[part] += one.of(part) * gpus
    return Goodput(seconds)


def usual_step_s(launch: Launch) -> float | None:
    """Median seconds of a step; None with fewer than two rows."""
    rows = zip(launch.steps, launch.times_ns, strict=True)
    found = [(tb - ta) / _NS / (b - a) for (a, ta), (b, tb) in pairwise(rows) if b > a and tb > ta]
    return median(found) if found else None


def pauses_of(launch: Launch, saved_steps: Iterable[int]) -> list[float]:
    """How much longer than usual the intervals with exactly one save were, in seconds.

    What a save really costs the training, whatever its own time says. >= 0.
    """
    usual = usual_step_s(launch)
    if usual is None:
        return []
    at = sorted(saved_steps)
    found = []
    rows = zip(launch.steps, launch.times_ns, strict=True)
    for (a, ta), (b, tb) in pairwise(rows):
        if b > a and sum(a < step <= b for step in at) == 1:
            found.append(max(0.0, (tb - ta) / _NS - (b - a) * usual))
    return found


def restarts_s(found: Sequence[Stretch]) -> list[float]:
    """For each restart: seconds from the last row before it to the first row after it.

    A start that logged nothing belongs to the restart that the next one ends.
    """
    spans: list[float] = []
    lost_s, trained, started = 0.0, False, False
    for one in found:
        if one.part in (Part.TRAINING, Part.REDONE):
            spans += [lost_s] if trained and started else []
            lost_s, trained, started = 0.0, True, False
        elif one.part is not Part.SAVING:
            lost_s += (one.end_ns - one.start_ns) / _NS
            started = started or one.part is Part.STARTING
    return spans


def _of_launch(launch: Launch, saves: Sequence[SavePause], end_ns: int) -> Iterator[Stretch]:
    start_ns, number = launch.started_ns, launch.number
    rows = [
        (step, at)
        for step, at in zip(launch.steps, launch.times_ns, strict=True)
        if start_ns <= at <= end_ns
    ]
    if not rows:
        yield Stretch(start_ns, end_ns, Part.STARTING, number)
        return
    usual_s = usual_step_s(launch)
    yield Stretch(start_ns, rows[0][1], Part.STARTING, number)
    yield from _between(rows, usual_s, saves, launch)
    yield from _tail(rows, usual_s, launch, end_ns)


def _between(
    rows: Sequence[tuple[int, int]],
    usual_s: float | None,
    saves: Sequence[SavePause],
    launch: Launch,
) -> Iterator[Stretch]:
    """From the first row to the last; what is nothing but training is one stretch."""
    place, (since, since_ns) = 0, rows[0]
    for (a, a_ns), (b, b_ns) in pairwise(rows):
        here = []
        while place < len(saves) and saves[place].step <= b:
            here += [saves[place]] if saves[place].step > a else []
            place += 1
        if not here and _plain(b - a, b_ns - a_ns, usual_s) and not _turns(launch, a, b):
            continue
        yield from _trained(since, a, since_ns, a_ns, launch)
        yield from _interval((a, a_ns, b, b_ns), usual_s, here, launch)
        since, since_ns = b, b_ns
    yield from _trained(since, rows[-1][0], since_ns, rows[-1][1], launch)


def _plain(steps: int, took_ns: int, usual_s: float | None) -> bool:
    """Whether an interval without a save is training and nothing else."""
    if usual_s is None:
        return True
    expected_ns = steps * usual_s * _NS
    return took_ns - expected_ns <= max(STALL_S * _NS, STALL_RATIO * expected_ns)


def _turns(launch: Launch, a: int, b: int) -> bool:
    """Whether steps stop to count between two rows."""
    return launch.kept_until is not None and a <= launch.kept_until < b


def _interval(
    span: tuple[int, int, int, int],
    usual_s: float | None,
    saves: Sequence[SavePause],
    launch: Launch,
) -> Iterator[Stretch]:
    """Training, then what of the rest the saves explain, then the stall."""
    a, a_ns, b, b_ns = span
    took_s = (b_ns - a_ns) / _NS
    expected_s = took_s if usual_s is None else min(took_s, max(0, b - a) * usual_s)
    over_s = took_s - expected_s
    saving_s = min(over_s, sum(over_s if s.seconds is None else s.seconds for s in saves))
    stalled_s = over_s - saving_s
    if stalled_s <= max(STALL_S, STALL_RATIO * expected_s):
        expected_s, stalled_s = expected_s + stalled_s, 0.0
    trained_ns = a_ns + round(expected_s * _NS)
    saved_ns = trained_ns + round(saving_s * _NS)
    yield from _trained(a, b, a_ns, trained_ns, launch)
    yield Stretch(trained_ns, min(saved_ns, b_ns), Part.SAVING, launch.number)
    yield Stretch(min(saved_ns, b_ns), b_ns, Part.STALLED, launch.number)


def _trained(a: int, b: int, a_ns: int, b_ns: int, launch: Launch) -> Iterator[Stretch]:
    """Training from step a to b, up to where its steps still count, and the rest."""
    kept = b if launch.kept_until is None else min(max(launch.kept_until, a), b)
    share = (kept - a) / (b - a) if b > a else 1.0
    middle_ns = a_ns + round((b_ns - a_ns) * share)
    yield Stretch(a_ns, middle_ns, Part.TRAINING, launch.number)
    yield Stretch(middle_ns, b_ns, Part.REDONE, launch.number)


def _tail(
    rows: Sequence[tuple[int, int]], usual_s: float | None, launch: Launch, end_ns: int
) -> Iterator[Stretch]:
    """After the last row: a running attempt trains on for a while before it counts as stalled."""
    at_ns = rows[-1][1]
    gap_ns = max((b - a for (_, a), (_, b) in pairwise(rows[-20:])), default=0)
    grace_ns = max(round(STALL_S * _NS), 2 * gap_ns) if launch.running else 0
    fine = usual_s is not None and end_ns - at_ns <= grace_ns
    yield Stretch(at_ns, end_ns, Part.TRAINING if fine else Part.STALLED, launch.number)
