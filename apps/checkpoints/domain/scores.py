"""What evaluations say of a checkpoint. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.core.errors import AppError

MAX_SCORES = 5_000
"""Of one result: all of MMLU, BIG-bench and a dozen more with five metrics each fit."""
MAX_HEADLINE = 40
"""Of one result on pages and in rankings: its groups and single tasks."""
MAX_NAME_CHARS = 200
MAX_STEP = 2**53

_LOWER = ("perplexity", "loss", "bits_per_byte", "error", "wer", "ter", "brier", "toxicity")
"""Metrics, by a part of their name, of which less is better wherever nobody says so."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One number of a result.

    stderr, samples: None if the file does not say. higher_is_better: None if nobody says. part:
    it belongs to a group whose own number is there too.
    """

    task: str
    metric: str
    value: float
    stderr: float | None = None
    higher_is_better: bool | None = None
    samples: int | None = None
    part: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """A number with its place. at_ns: our clock, when it came. by: who sent it."""

    attempt: int
    step: int
    suite: str
    task: str
    metric: str
    value: float
    stderr: float | None
    higher_is_better: bool | None
    at_ns: int
    by: str

    @property
    def what(self) -> tuple[str, str, str]:
        """What was measured: two scores with the same answer may be compared."""
        return (self.suite, self.task, self.metric)

    def beats(self, other: Score) -> bool:
        """Whether this is the better one; False where nobody says which way is better."""
        if self.higher_is_better is None:
            return False
        return self.value > other.value if self.higher_is_better else self.value < other.value


@dataclass(frozen=True, slots=True)
class Result:
    """The scores of one result, with where they belong."""

    attempt: int
    step: int
    suite: str
    at_ns: int
    by: str
    measured: tuple[Measured, ...]


def direction(metric: str) -> bool | None:
    """Whether more is better, by the name of a metric alone; None if the name does not say."""
    return False if any(word in metric.lower() for word in _LOWER) else None


def checked(measured: Iterable[Measured]) -> tuple[Measured, ...]:
    """The scores, each task and metric once; AppError names the first one that is wrong."""
    found: dict[tuple[str, str], Measured] = {}
    for at, one in enumerate(measured):
        where = f"scores[{at}]"
        for field, text in (("task", one.task), ("metric", one.metric)):
            if not 0 < len(text) <= MAX_NAME_CHARS or not text.isprintable():
                hint = f"1-{MAX_NAME_CHARS} printable characters"
                raise AppError(f"this is no name of a {field}", where=f"{where}.{field}", hint=hint)
        if not math.isfinite(one.value):
            raise AppError("a score is a finite number", where=f"{where}.value")
        if (one.task, one.metric) in found:
            raise AppError(f"{one.task} {one.metric} is there twice", where=where)
        found[one.task, one.metric] = one
    if not 0 < len(found) <= MAX_SCORES:
        raise AppError(
            f"a result has 1-{MAX_SCORES:,} scores, this one {len(found):,}", where="scores"
        )
    return tuple(found.values())


def headline(measured: Sequence[Measured]) -> tuple[Measured, ...]:
    """What stands on pages: groups and single tasks, not the parts of groups. At most MAX_HEADLINE,
    in their order; of a result with parts only, the first of them."""
    whole = [one for one in measured if not one.part] or list(measured)
    return tuple(whole[:MAX_HEADLINE])


def newest(results: Iterable[Result]) -> dict[int, tuple[Score, ...]]:
    """step -> its scores: of one (attempt, suite, task, metric) the one that came last.

    results: in any order. Steps rise; at a step newer attempts come first, then names.
    """
    found: dict[tuple[int, int, str, str, str], Score] = {}
    for result in sorted(results, key=lambda one: one.at_ns):
        for one in result.measured:
            key = (result.step, -result.attempt, result.suite, one.task, one.metric)
            found[key] = _placed(result, one)
    steps: dict[int, list[Score]] = {}
    for key in sorted(found):
        steps.setdefault(key[0], []).append(found[key])
    return {step: tuple(scores) for step, scores in steps.items()}


def best(by_step: Mapping[int, Sequence[Score]]) -> dict[tuple[str, str, str], Score]:
    """What was measured -> its best score; of equal ones that of the lowest step. Measures that
    say no direction are left out."""
    found: dict[tuple[str, str, str], Score] = {}
    for step in sorted(by_step):
        for score in by_step[step]:
            known = found.get(score.what)
            if score.higher_is_better is not None and (known is None or score.beats(known)):
                found[score.what] = score
    return found


def _placed(result: Result, one: Measured) -> Score:
    return Score(
        attempt=result.attempt,
        step=result.step,
        suite=result.suite,
        task=one.task,
        metric=one.metric,
        value=one.value,
        stderr=one.stderr,
        higher_is_better=one.higher_is_better,
        at_ns=result.at_ns,
        by=result.by,
    )
