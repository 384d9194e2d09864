"""Planning: where the time of a run went, what saving and failing cost it, what it would win."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from apps.checkpoints import store as checkpoints
from apps.checkpoints.domain.interval import Failures, failures
from apps.checkpoints.domain.restore import Restored
from apps.checkpoints.domain.saves import Saved, habit
from apps.metrics import store as metrics
from apps.rollbacks import gather
from apps.rollbacks.domain.goodput import (
    Goodput,
    Launch,
    Part,
    SavePause,
    Stretch,
    account,
    pauses_of,
    restarts_s,
    stretches,
)
from apps.rollbacks.domain.lineage import past
from apps.runs import store as runs
from apps.runs.records import AttemptInfo, RunInfo

POINTS = 2_000
"""Rows of all attempts that the wall clock is read from: buckets of steps in a long run."""
MAX_SAVES = 10_000
RECENT_SAVES = 10
"""Saves whose pause is measured on all rows."""
RECENT_RESTARTS = 5
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run says about itself; None where it does not.

    pause_s: training stands still so long at a save, measured at the steps. save_s: until a save
    was committed, as announced. every_s, every_steps: between two saves. restart_s: from the last
    step before a failure to the first after it. size_bytes: of the newest complete checkpoint.
    """

    pause_s: float | None = None
    save_s: float | None = None
    every_s: float | None = None
    every_steps: float | None = None
    restart_s: float | None = None
    size_bytes: int | None = None
    gpus: int | None = None
    hosts: int | None = None

    @property
    def persist_s(self) -> float | None:
        """How long a save is written in the background; 0 if it is not worth telling apart."""
        if self.pause_s is None or self.save_s is None:
            return None
        behind = self.save_s - self.pause_s
        return behind if behind > max(5.0, 0.2 * self.save_s) else 0.0


@dataclass(frozen=True, slots=True)
class RunTime:
    """Where the time of a run went. blind: the run logs no loss, so steps are not known."""

    stretches: tuple[Stretch, ...]
    goodput: Goodput
    failures: Failures | None
    measured: Measured
    starts: tuple[Restored, ...] = ()
    blind: bool = False


def goodput_of(run: RunInfo, now_ns: int, since_ns: int) -> Goodput | None:
    """Seconds by category from a time on; None where no step is known. About 10 statements."""
    found, launches, _ = _wall_clock(run, now_ns)
    if not any(launch.steps for launch in launches):
        return None
    return account(found, since_ns, now_ns)


def run_time(run: RunInfo, now_ns: int) -> RunTime:
    """The whole account of a run and what it measured. About 15 statements; O(POINTS + saves)."""
    found, launches, saves = _wall_clock(run, now_ns)
    if not launches:
        return RunTime((), Goodput(), None, Measured(), blind=True)
    attempts = runs.attempts(run.id)
    goodput = account(found)
    measured = _measured(run, attempts, found, saves)
    return RunTime(
        stretches=tuple(found),
        goodput=goodput,
        failures=_failures(attempts, goodput),
        measured=measured,
        starts=tuple(_starts(found, measured)),
        blind=not any(launch.steps for launch in launches),
    )


def gpus_of(run: RunInfo, attempt: int | None) -> int | None:
    """GPUs of an attempt: its ranks, else what the run says of its world."""
    ranks = runs.rank_count(run.id, attempt) if attempt is not None else 0
    return ranks or run.world_size


def _wall_clock(run: RunInfo, now_ns: int) -> tuple[list[Stretch], list[Launch], list[Saved]]:
    attempts = runs.attempts(run.id)
    launches = _launches(run, attempts)
    saves = checkpoints.newest_saves([run.id], MAX_SAVES).get(run.id, [])
    pauses = [SavePause(one.attempt, one.step, one.save_s) for one in saves]
    return stretches(launches, pauses, now_ns), launches, saves


def _launches(run: RunInfo, attempts: Sequence[AttemptInfo]) -> list[Launch]:
    if not attempts:
        return []
    rows = _rows(run.id)
    chain = past(gather.branches(attempts), attempts[-1].number)
    kept = {one.attempt: one.up_to_step for one in chain}
    running = run.state == "running"
    return [
        Launch(
            number=one.number,
            started_ns=one.started_ns,
            heard_ns=max(one.last_ns or one.started_ns, one.started_ns),
            steps=rows.get(one.number, ((), ()))[0],
            times_ns=rows.get(one.number, ((), ()))[1],
            kept_until=kept.get(one.number, -1),
            running=running and one.number == attempts[-1].number,
        )
        for one in attempts
    ]


def _rows(run_id: int) -> dict[int, tuple[Sequence[int], Sequence[int]]]:
    """attempt -> (steps, times) of its rows, the last of each bucket in a long run."""
    key = gather.loss_key(run_id)
    if key is None:
        return {}
    query = metrics.SeriesQuery(
        run_id=run_id,
        keys=(key,),
        attempt=None,
        rank=None,
        from_step=None,
        to_step=None,
        points=POINTS,
    )
    found: dict[int, tuple[Sequence[int], Sequence[int]]] = {}
    for window in metrics.read_series(query):
        if window.rank is None:
            found[window.attempt] = _rising(window.step, window.time_ns)
    return found


def _rising(steps: Sequence[int], times_ns: Sequence[int]) -> tuple[list[int], list[int]]:
    """The rows that are later, and further, than all before them."""
    kept: tuple[list[int], list[int]] = ([], [])
    for step, at_ns in sorted(zip(map(int, steps), map(int, times_ns), strict=True)):
        if not kept[0] or (step > kept[0][-1] and at_ns > kept[1][-1]):
            kept[0].append(step)
            kept[1].append(at_ns)
    return kept


def _failures(attempts: Sequence[AttemptInfo], goodput: Goodput) -> Failures | None:
    """Every restart lost the time since the last save, whatever ended the attempt before it."""
    observed_s = goodput.wall_s - goodput.of(Part.WAITING)
    count = len(attempts) - 1 + (attempts[-1].state == "failed")
    return failures(count, observed_s) if observed_s > 0 else None


def _measured(
    run: RunInfo, attempts: Sequence[AttemptInfo], found: list[Stretch], saves: Sequence[Saved]
) -> Measured:
    newest = attempts[-1].number
    own = [one for one in saves if one.attempt == newest] or list(saves)
    usual = habit(own[-RECENT_SAVES - 1 :])
    pauses = _pauses(run.id, own[-RECENT_SAVES - 1 :])
    restarts = restarts_s(found)[-RECENT_RESTARTS:]
    good = checkpoints.newest_complete([run.id]).get(run.id)
    nodes = {one.node for one in runs.placements(run.id, newest).values()}
    return Measured(
        pause_s=median(pauses) if pauses else None,
        save_s=usual.save_s,
        every_s=usual.seconds,
        every_steps=usual.steps,
        restart_s=median(restarts) if restarts else None,
        size_bytes=good.bytes if good and good.digest else None,
        gpus=gpus_of(run, newest),
        hosts=len(nodes) or None,
    )


def _pauses(run_id: int, saves: Sequence[Saved]) -> list[float]:
    """What the last saves of one attempt cost, measured on all rows between them."""
    key = gather.loss_key(run_id)
    if key is None or len(saves) < 2:
        return []
    attempt, steps = saves[-1].attempt, [one.step for one in saves]
    apart = max(1, steps[-1] - steps[-2])
    first, last = max(0, steps[0] - apart // 2), steps[-1] + apart // 2
    rows = metrics.read_rows(run_id, attempt, [key], first, last).get(key)
    if rows is None:
        return []
    at, times = _rising(rows[0].tolist(), rows[1].tolist())
    return pauses_of(Launch(attempt, 0, 0, at, times), steps)


def _starts(found: Sequence[Stretch], measured: Measured) -> list[Restored]:
    """How long the later starts took, oldest first: loading and all else until the first step."""
    size, hosts = measured.size_bytes or 0, measured.hosts or 0
    first = found[0].attempt if found else None
    return [
        Restored((one.end_ns - one.start_ns) / _NS, size, hosts)
        for one in found
        if one.part is Part.STARTING and one.attempt != first
    ]
