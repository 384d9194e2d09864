"""What the pages of evaluations show, composed from scores, jobs and checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.checkpoints import evaluations, jobs_store, store
from apps.checkpoints.domain.evaluating import State
from apps.checkpoints.domain.scores import Score, best
from apps.checkpoints.jobs_store import JobInfo, SuiteInfo
from apps.checkpoints.records import CheckpointInfo
from apps.core.words import number
from apps.runs.records import RunInfo

MAX_MEASURES = 100
MAX_STEPS = 200
MAX_CHOICES = 100
WAKING_S = 120.0
"""An evaluator takes what waits within half a minute."""
Scores = Mapping[int, Sequence[Score]]


@dataclass(frozen=True, slots=True)
class Measure:
    """One task and metric over the steps. values: of the newest attempt at each step, by step."""

    suite: str
    task: str
    metric: str
    newest: Score
    best: Score | None
    values: tuple[float, ...]

    @property
    def way(self) -> str:
        """Which way is better, in words."""
        better = self.newest.higher_is_better
        return "not said" if better is None else "higher" if better else "lower"


@dataclass(frozen=True, slots=True)
class Scene:
    """The page of a run. unread: a job has waited so long that no evaluator seems to be there."""

    measures: Sequence[Measure]
    more_measures: int
    by_step: Sequence[tuple[int, Sequence[Score]]]
    jobs: Sequence[JobInfo]
    suites: Sequence[SuiteInfo]
    choices: Sequence[CheckpointInfo]
    unread: bool


def scene(run: RunInfo, now_ns: int) -> Scene:
    """Everything of the page."""
    found = evaluations.of_run(run.id)
    measures = measured(found)
    jobs = jobs_store.jobs(run.id)
    whole = [c for c in store.outlines(run.id) if c.complete]
    return Scene(
        measures=measures[:MAX_MEASURES],
        more_measures=max(0, len(measures) - MAX_MEASURES),
        by_step=[(step, found[step]) for step in sorted(found, reverse=True)[:MAX_STEPS]],
        jobs=jobs,
        suites=[one for one in jobs_store.suites(run.project) if one.suite.enabled],
        choices=sorted(whole, key=lambda c: (-c.step, -c.attempt))[:MAX_CHOICES],
        unread=_unread(jobs, now_ns),
    )


def measured(found: Scores) -> list[Measure]:
    """The measures of a run by name, each with its curve, its newest and its best score."""
    tops = best(found)
    curves: dict[tuple[str, str, str], dict[int, Score]] = {}
    for step, scores in found.items():
        for score in scores:  # of a step the newest attempt comes first
            curves.setdefault(score.what, {}).setdefault(step, score)
    return [
        Measure(*what, curve[max(curve)], tops.get(what), tuple(curve[s].value for s in curve))
        for what, curve in sorted(curves.items())
    ]


def _unread(jobs: Sequence[JobInfo], now_ns: int) -> bool:
    waits = [(now_ns - job.due_ns) / 1e9 for job in jobs if job.state is State.WAITING]
    return max(waits, default=0.0) > WAKING_S and not jobs_store.any_running()


def tops_of(found: Scores) -> set[Score]:
    """The scores that are the best of their measure, of those that were measured more than once."""
    counts = Counter(score.what for scores in found.values() for score in scores)
    return {score for what, score in best(found).items() if counts[what] > 1}


def told(scores: Sequence[Score], tops: set[Score], most: int = 4) -> str:
    """Scores of one checkpoint in a line: "mmlu acc 0.61 ± 0.004 (best), and 3 more"."""
    words = [_told(score, tops) for score in scores[:most]]
    more = len(scores) - most
    return ", ".join(words) + (f", and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside one checkpoint: scores, each with whether it is the best; how many more
    there are."""

    step: int
    shown: Sequence[tuple[Score, bool]]
    more: int


def beside(run_id: int, most: int = 2) -> dict[tuple[int, int], Beside]:
    """(attempt, step) -> what evaluations said of it, for a list of checkpoints."""
    found = evaluations.of_run(run_id)
    tops = tops_of(found)
    grouped: dict[tuple[int, int], list[Score]] = {}
    for step, scores in found.items():
        for score in scores:
            grouped.setdefault((score.attempt, step), []).append(score)
    return {
        at: Beside(at[1], [(one, one in tops) for one in scores[:most]], len(scores[most:]))
        for at, scores in grouped.items()
    }


def _told(score: Score, tops: set[Score]) -> str:
    error = f" ± {number(score.stderr)}" if score.stderr else ""
    top = " (best)" if score in tops else ""
    return f"{score.task} {score.metric} {number(score.value)}{error}{top}"
