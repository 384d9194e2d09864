"""Did a restart begin where it was told to, and does it save where its branch is?

Nothing of this shows in the loss for a while: a run that has loaded the abandoned branch, or one
that starts again from scratch, trains on as if all were well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import Evidence, Finding, FindingSeverity

DETECTOR = "rollbacks.arrival"
WRONG_START, WRONG_FOLDER = "wrong_start", "wrong_folder"
KINDS = (WRONG_START, WRONG_FOLDER)


@dataclass(frozen=True, slots=True)
class Told:
    """What an order says. fresh: the start is the one that has to follow it, else a later one of
    its branch. reached_step: how far the attempt came that was given up."""

    label: str
    step: int
    uri: str
    branch: str
    fresh: bool
    reached_step: int | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a process printed that it had loaded; None where it does not say."""

    step: int | None
    path: str | None


@dataclass(frozen=True, slots=True)
class Start:
    """A start of a run that had others before. first_step, seen_step: its first and newest row.

    interval_steps: between two logged rows. loaded: what it printed. saved: step and path of each
    of its checkpoints. whole_step: the newest complete checkpoint it could have gone on from.
    before_step: the newest step of the attempt before it.
    """

    attempt: int
    first_step: int
    seen_step: int
    interval_steps: int
    started_ns: int
    seen_ns: int
    loaded: Sequence[Loaded] = ()
    saved: Sequence[tuple[int, str]] = ()
    whole_step: int | None = None
    before_step: int | None = None


def judge(start: Start, told: Told | None) -> list[Finding]:
    """What is wrong with how a start began, and with where it saves; [] if nothing.

    told: the order whose branch it belongs to. At most one finding of each kind, O(saves).
    """
    wrong = _wrong_start(start, told)
    folder = None if told is None else _wrong_folder(start, told)
    return [found for found in (wrong, folder) if found is not None]


def at_step(first_step: int, step: int, interval_steps: int) -> bool:
    """Whether the first logged row is the one that follows a checkpoint."""
    return 0 <= first_step - step <= max(1, interval_steps)


def _wrong_start(start: Start, told: Told | None) -> Finding | None:
    if told is not None and told.fresh:
        return _not_as_told(start, told)
    if told is not None:
        return _undone(start, told) or _repeated(start, told) or _from_scratch(start)
    return _from_scratch(start)


def _not_as_told(start: Start, told: Told) -> Finding | None:
    order = Evidence(f"{told.label} says: start from step {told.step:,}, {told.uri}", weight=0)
    remedy = "stop it, and start it with the resume point of the order"
    if not at_step(start.first_step, told.step, start.interval_steps):
        title = f"attempt {start.attempt} began at step {start.first_step:,}, {told.label} says "
        return _finding(WRONG_START, start, f"{title}{told.step:,}", (order, _do(remedy)))
    if not start.loaded or any(_fits(loaded, told) for loaded in start.loaded):
        return None
    seen = start.loaded[0]
    what = seen.path or f"step {seen.step:,}"
    title = f"attempt {start.attempt} has loaded {what}, {told.label} names another checkpoint"
    return _finding(WRONG_START, start, title, (order, _do(remedy)))


def _fits(loaded: Loaded, told: Told) -> bool:
    """Whether a line speaks of the ordered checkpoint, under whatever mount point: the names of the
    step and of the old and new directories count, not where they are mounted."""
    if loaded.step is not None and loaded.step != told.step:
        return False
    if not loaded.path:
        return True
    old, _, step = told.uri.rstrip("/").rpartition("/")
    named = {step, f"{step}-last", _name(old), _name(told.branch)}
    return not named.isdisjoint(loaded.path.split("/"))


def _undone(start: Start, told: Told) -> Finding | None:
    """It goes on where only the abandoned attempt has been."""
    if start.before_step is None or told.reached_step is None:
        return None
    if start.first_step - start.before_step <= max(1, start.interval_steps):
        return None
    if start.first_step - told.reached_step > max(1, start.interval_steps):
        return None
    title = (
        f"attempt {start.attempt} began at step {start.first_step:,}, which the branch of "
        f"{told.label} has not reached"
    )
    why = (
        f"the branch came to step {start.before_step:,}, the abandoned attempt to step "
        f"{told.reached_step:,}: its checkpoint was loaded"
    )
    remedy = f"stop it, load from and save into {told.branch}"
    return _finding(WRONG_START, start, title, (Evidence(why, step=start.before_step), _do(remedy)))


def _repeated(start: Start, told: Told) -> Finding | None:
    """It goes back to the ordered step although the branch has newer ones."""
    again = at_step(start.first_step, told.step, start.interval_steps)
    if not again or start.whole_step is None or start.whole_step <= told.step:
        return None
    title = f"attempt {start.attempt} began at step {start.first_step:,} of {told.label} again"
    why = f"the branch has a complete checkpoint of step {start.whole_step:,}"
    remedy = "look for a step or a path in the arguments of the job: it is loaded at every start"
    return _finding(WRONG_START, start, title, (Evidence(why, step=start.whole_step), _do(remedy)))


def _from_scratch(start: Start) -> Finding | None:
    """It begins at the beginning although there is something to go on from."""
    if start.first_step > 1 or start.whole_step is None or start.whole_step <= start.first_step:
        return None
    title = f"attempt {start.attempt} began at step {start.first_step}, not from a checkpoint"
    why = f"there is a complete checkpoint of step {start.whole_step:,}"
    evidence = (Evidence(why, step=start.whole_step), _do("if that is not meant, stop it"))
    return _finding(WRONG_START, start, title, evidence, loud=False)


def _wrong_folder(start: Start, told: Told) -> Finding | None:
    """It saves among the checkpoints of the abandoned attempt."""
    old = told.uri.rstrip("/").rpartition("/")[0]
    among = [(step, path) for step, path in start.saved if _parent(path) == old]
    if not among or old == told.branch:
        return None
    step, path = min(among)
    title = f"attempt {start.attempt} saves into the directory of the abandoned attempt"
    why = f"step {step:,} was saved as {path}; the branch is {told.branch}"
    risk = "the next automatic restart picks the highest step there, of whichever attempt"
    evidence = (Evidence(why, step=step), _do(risk))
    return _finding(WRONG_FOLDER, start, title, evidence, loud=False)


def _do(text: str) -> Evidence:
    return Evidence(text, weight=0)


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _parent(path: str) -> str:
    return path.rstrip("/").rpartition("/")[0]


def _finding(
    kind: str, start: Start, title: str, evidence: tuple[Evidence, ...], *, loud: bool = True
) -> Finding:
    return Finding(
        key=f"{kind}:a{start.attempt}",
        detector=DETECTOR,
        kind=kind,
        severity=FindingSeverity.PAGE if loud else FindingSeverity.WARN,
        attempt=start.attempt,
        onset_step=start.first_step,
        onset_time_ns=start.started_ns,
        seen_step=start.seen_step,
        seen_time_ns=start.seen_ns,
        title=title,
        evidence=evidence,
        facts={"hint": evidence[-1].text},
    )
