"""Are checkpoints saved as they should be? Failed, late and slow saves of one attempt.

What is usual is learned from the run's own saves. All times are those of the job's clock: the age
of a save is counted up to the newest data, so that a silent run is never late as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from apps.checkpoints.domain.codes import Code
from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.words import duration, many

DETECTOR = "checkpoints.saves"
SHOWN_FAULTS = 3
FAILED, LATE, SLOW = "save_failed", "save_late", "save_slow"
_NS = 1_000_000_000
_UNFINISHED = Code.NO_COMMIT_MARKER.value
_BROKEN = frozenset(
    code.value
    for code in (
        Code.ZERO_LENGTH,
        Code.MISSING_SHARD,
        Code.TRUNCATED,
        Code.METADATA_UNREADABLE,
        Code.COVERAGE,
    )
)


@dataclass(frozen=True, slots=True)
class SavePolicy:
    """When a save is news.

    failed_factor: an announced save without its commit marker has failed after so many usual save
    times, at least failed_floor_s: asynchronous saves commit late. failed_page: so many failed
    saves in a row page; one costs at most one interval more at the next fault, two say that the
    way to the storage is broken. late_factor: usual intervals without a save, in steps and in
    time; late_page, late_page_s: a fault would then cost several intervals and at least an hour
    (GLM-130B and BLOOM saved every 100 steps, some 3 h). slow_factor, slow_floor_s: times the
    usual save time, twice in a row (BigScience: minutes at a slow file system; a single slow save
    is a busy neighbour). min_intervals, min_timed: saves before anything is usual.
    """

    failed_factor: float = 3.0
    failed_floor_s: float = 60.0
    failed_page: int = 2
    late_factor: float = 2.0
    late_page: float = 4.0
    late_page_s: float = 3_600.0
    slow_factor: float = 3.0
    slow_floor_s: float = 30.0
    slow_rows: int = 2
    min_intervals: int = 3
    min_timed: int = 5


DEFAULT_POLICY = SavePolicy()


@dataclass(frozen=True, slots=True)
class Saved:
    """A save as it was announced. faults: code -> what is wrong with it, only what is fatal."""

    attempt: int
    step: int
    saved_at_ns: int
    save_s: float | None
    faults: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Training:
    """How far the attempt is. event_ns: time of its newest data, by the job's clock."""

    attempt: int
    first_step: int | None
    step: int | None
    started_ns: int
    event_ns: int


@dataclass(frozen=True, slots=True)
class Habit:
    """What is usual: the time of a save, and steps and seconds between two; None: unknown."""

    save_s: float | None
    steps: float | None
    seconds: float | None


def habit(saves: Sequence[Saved], policy: SavePolicy = DEFAULT_POLICY) -> Habit:
    """Medians over the saves, oldest first; intervals only inside an attempt."""
    times = [save.save_s for save in saves if save.save_s is not None]
    pairs = [(a, b) for a, b in pairwise(saves) if a.attempt == b.attempt]
    steps = [b.step - a.step for a, b in pairs if b.step > a.step]
    seconds = [(b.saved_at_ns - a.saved_at_ns) / _NS for a, b in pairs if b.step > a.step]
    known = len(steps) >= policy.min_intervals
    return Habit(
        save_s=median(times) if times else None,
        steps=median(steps) if known else None,
        seconds=median(seconds) if known else None,
    )


def judge(
    saves: Sequence[Saved], training: Training, policy: SavePolicy = DEFAULT_POLICY
) -> list[Finding]:
    """What is wrong with the saves of the attempt right now, as findings that are not closed.

    saves: of the run, in the order of (attempt, step); those of earlier attempts only say what is
    usual. The same trouble keeps its key until it is over. O(saves).
    """
    own = [save for save in saves if save.attempt == training.attempt]
    usual = habit(saves, policy)
    found = [
        _failed(own, usual, training, policy),
        _late(own, usual, training, policy),
        _slow(own, saves, training, policy),
    ]
    return [finding for finding in found if finding is not None]


def has_failed(save: Saved, usual: Habit, now_ns: int, policy: SavePolicy = DEFAULT_POLICY) -> bool:
    """Whether a save is broken, or was announced and is not committed after a long while."""
    codes = {code for code, _ in save.faults}
    if codes & _BROKEN:
        return True
    patience_s = max(policy.failed_floor_s, policy.failed_factor * (usual.save_s or 0.0))
    return _UNFINISHED in codes and now_ns - save.saved_at_ns > patience_s * _NS


def _failed(
    own: Sequence[Saved], usual: Habit, training: Training, policy: SavePolicy
) -> Finding | None:
    streak: list[Saved] = []
    for save in own:
        if has_failed(save, usual, training.event_ns, policy):
            streak.append(save)
        elif not save.faults:
            streak = []
    if not streak:
        return None
    first, loud = streak[0], len(streak) >= policy.failed_page
    good = [save for save in own if save.step < first.step and not save.faults]
    words = many(len(streak), "save")
    title = f"{words} failed, the first at step {first.step:,}"
    if len(streak) == 1:
        title = f"the save at step {first.step:,} failed"
    evidence = [
        Evidence(text, save.saved_at_ns, save.step)
        for save in streak[-SHOWN_FAULTS:]
        for _, text in save.faults
    ]
    evidence.append(_risk(good[-1] if good else None, training))
    facts = {
        "failed": len(streak),
        "steps": [save.step for save in streak[-10:]],
        "hint": evidence[-1].text,
    }
    return _finding(FAILED, first, training, title, (loud, tuple(evidence), facts))


def _late(
    own: Sequence[Saved], usual: Habit, training: Training, policy: SavePolicy
) -> Finding | None:
    if training.step is None or usual.steps is None or usual.seconds is None:
        return None
    last = own[-1] if own else _beginning(training)
    steps = training.step - last.step
    age_s = (training.event_ns - last.saved_at_ns) / _NS
    slack_s = policy.failed_factor * (usual.save_s or 0.0)
    late = min(steps / usual.steps, (age_s - slack_s) / usual.seconds)
    if late <= policy.late_factor:
        return None
    loud = late > policy.late_page and age_s > policy.late_page_s
    title = f"no checkpoint since step {last.step:,}: {duration(age_s)} would be lost"
    rule = (
        f"saves come every {usual.steps:,.0f} steps, {duration(usual.seconds)} apart;"
        f" the last one is {many(steps, 'step')} and {duration(age_s)} old"
    )
    risk = _risk(last, training)
    facts = {
        "at_risk_steps": steps,
        "at_risk_s": age_s,
        "usual_steps": usual.steps,
        "hint": risk.text,
    }
    evidence = (Evidence(rule, last.saved_at_ns, last.step), risk)
    return _finding(LATE, last, training, title, (loud, evidence, facts))


def _beginning(training: Training) -> Saved:
    """An attempt without a save has its beginning to lose."""
    return Saved(training.attempt, training.first_step or 0, training.started_ns, None)


def _slow(
    own: Sequence[Saved], saves: Sequence[Saved], training: Training, policy: SavePolicy
) -> Finding | None:
    """The last saves took far longer than those before them."""
    streak: list[Saved] = []
    usual_s: float | None = None
    for save in reversed([save for save in own if save.save_s is not None]):
        before = [
            s.save_s
            for s in saves
            if s.save_s is not None and _earlier(s, save) and s not in streak
        ]
        usual_s = median(before) if len(before) >= policy.min_timed else None
        if usual_s is None or not _is_slow(save, usual_s, policy):
            break
        streak.append(save)
    if len(streak) < policy.slow_rows:
        return None
    newest, first = streak[0], streak[-1]
    before_s = median(s.save_s for s in saves if s.save_s is not None and _earlier(s, first))
    title = f"saves take {duration(newest.save_s or 0)}, usually {duration(before_s)}"
    rule = f"{len(streak)} saves in a row took more than {policy.slow_factor:g} times as long"
    facts = {"before": before_s, "value": newest.save_s, "saves": len(streak)}
    evidence = (Evidence(rule, newest.saved_at_ns, newest.step),)
    return _finding(SLOW, first, training, title, (False, evidence, facts))


def _is_slow(save: Saved, usual_s: float, policy: SavePolicy) -> bool:
    limit_s = max(policy.slow_factor * usual_s, usual_s + policy.slow_floor_s)
    return save.save_s is not None and save.save_s > limit_s


def _earlier(save: Saved, than: Saved) -> bool:
    return (save.attempt, save.step) < (than.attempt, than.step)


def _risk(last: Saved | None, training: Training) -> Evidence:
    """What a fault would cost now."""
    last = last or _beginning(training)
    age_s = max(0.0, (training.event_ns - last.saved_at_ns) / _NS)
    if training.step is None:
        return Evidence(f"a fault now would cost {duration(age_s)}", training.event_ns, weight=0)
    steps = max(0, training.step - last.step)
    return Evidence(
        f"a fault now would cost {many(steps, 'step')} ({duration(age_s)})",
        step=last.step,
        weight=0,
    )


def _finding(
    kind: str,
    since: Saved,
    training: Training,
    title: str,
    told: tuple[bool, tuple[Evidence, ...], dict[str, Any]],
) -> Finding:
    loud, evidence, facts = told
    return Finding(
        key=f"{kind}:a{training.attempt}:s{since.step}",
        detector=DETECTOR,
        kind=kind,
        severity=FindingSeverity.PAGE if loud else FindingSeverity.WARN,
        attempt=training.attempt,
        onset_step=since.step,
        onset_time_ns=since.saved_at_ns,
        seen_step=training.step,
        seen_time_ns=training.event_ns,
        title=title,
        evidence=evidence,
        facts=facts,
    )
