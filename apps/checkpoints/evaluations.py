"""What evaluations said of the checkpoints of a run: taken in, and read by step."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require_any
from apps.checkpoints import evaluations_store as results
from apps.checkpoints import store
from apps.checkpoints.domain import scores
from apps.checkpoints.domain.scores import Measured, Result, Score
from apps.core import live
from apps.core.errors import AppError, Refused
from apps.runs import store as runs

MAX_SUITE_CHARS = 100
MAX_ATTEMPT = 2**31 - 1
MAX_RESULTS = 20_000
"""Of a run: what comes beyond is refused, not dropped."""
SCOPES = ("ingest", "operate")
_SUITE = re.compile(r"[\w][\w .:+/-]{0,99}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pushed:
    """A result as somebody sends it. attempt None: the newest one that has the step. source: the
    tool whose file it was. model: what the file calls the model. left_out: scores of the file that
    were no numbers."""

    suite: str
    step: int
    measured: Sequence[Measured]
    attempt: int | None = None
    source: str = "api"
    model: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of it. new: nobody had said exactly this."""

    result: Result
    new: bool
    left_out: int


def of_run(run_id: int) -> Mapping[int, tuple[Score, ...]]:
    """step -> what evaluations said of its checkpoint: the newest score of each task and metric,
    groups and single tasks only. One statement; O(results of the run), at most 2,000."""
    return scores.newest(results.headlines(run_id))


def record(run_id: int, pushed: Pushed, actor: Actor, now_ns: int) -> Taken:
    """Takes a result in; the same scores again are no second result. Audited.

    Needs the scope ingest or operate. AppError for a wrong field, Refused beyond MAX_RESULTS.
    """
    require_any(actor, SCOPES)
    suite = checked_suite(pushed.suite)
    if not 0 <= pushed.step <= scores.MAX_STEP:
        raise AppError("a step is a whole number from 0 on", where="step")
    measured = scores.checked(pushed.measured)
    with transaction.atomic():
        attempt = _attempt(run_id, pushed)
        result = Result(attempt, pushed.step, suite, now_ns, actor.name[:200], measured)
        new = results.NewResult(
            result, _digest(measured), pushed.source, pushed.model, pushed.left_out
        )
        if results.count(run_id) >= MAX_RESULTS:
            raise Refused(f"a run keeps at most {MAX_RESULTS:,} results", where="suite")
        fresh = results.add(run_id, new)
        if fresh:
            told = {"suite": suite, "scores": len(measured), "source": pushed.source}
            where = f"step {pushed.step}, attempt {attempt}"
            audit(actor, "evaluation.recorded", where, run_id=run_id, after=told)
        transaction.on_commit(lambda: _tell(run_id), robust=True)
    return Taken(result, fresh, pushed.left_out)


def checked_suite(name: str) -> str:
    """The name of a suite, trimmed; AppError if it is none."""
    bare = name.strip()
    if len(bare) > MAX_SUITE_CHARS or not _SUITE.fullmatch(bare):
        raise AppError(
            f'"{name[:40]}" is no name of a suite',
            where="suite",
            hint="1-100 letters, digits and _ - . : + /, such as mmlu-5shot",
        )
    return bare


def _attempt(run_id: int, pushed: Pushed) -> int:
    """The attempt meant: that of the newest checkpoint at the step, else the newest that passed
    it. A step nobody has seen yet belongs to the newest attempt."""
    if pushed.attempt is not None:
        if not 0 <= pushed.attempt <= MAX_ATTEMPT:
            raise AppError("an attempt is a whole number from 0 on", where="attempt")
        return pushed.attempt
    saved = store.at_step(run_id, pushed.step)
    if saved:
        return saved[0].attempt
    known = runs.attempts(run_id)
    passed = [a.number for a in known if a.last_step is not None and a.last_step >= pushed.step]
    numbers = passed or [a.number for a in known] or [0]
    return max(numbers)


def _digest(measured: tuple[Measured, ...]) -> str:
    ordered = sorted(measured, key=lambda one: (one.task, one.metric))
    return hashlib.sha256(msgspec.json.encode(ordered)).hexdigest()


def _tell(run_id: int) -> None:
    live.publish(runs.run_by_id(run_id).key, step=None, what=["checkpoints"])
