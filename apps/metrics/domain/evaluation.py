"""Did an evaluation get worse? Losses that rise and scores that fall, against the best before.

Evaluations are rare, so each one counts: two in a row that are worse than the noise of the series,
or one that is far worse. Causal, with a bounded state that can be stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np

from apps.core.plain import name_of
from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.robust import center_and_scale
from apps.core.words import many, number
from apps.metrics.domain.layer_statistics import spoken
from apps.metrics.domain.planned import PlannedChange, explaining

DETECTOR = "metrics.evaluation"
KIND = "eval_regression"
MAX_SERIES = 50
LOOK_BACK_STEPS = 20_000
"""Between two evaluations of a series; they are read again that far back."""
_EVALUATION = re.compile(
    r"^(eval\w*|val|valid\w*|test|bench\w*|downstream|lm eval|lm harness)\b|\bvalidation\b"
)
_NO_RESULT = re.compile(
    r"\b(runtime|time|seconds|per second|samples|steps?|epochs?|tokens?|count|num|memory|mem|lr"
    r"|learning rate|batch|size|throughput|flops|stderr|std)\b"
)
_LOWER = re.compile(
    r"\b(loss|losses|perplexity|ppl|bpb|bits per byte|bpc|nll|cross entropy|ce|error|err|wer|cer"
    r"|mse|mae|rmse)\b"
)
_HIGHER = re.compile(
    r"\b(acc|accuracy|acc norm|score|f1|em|exact match|bleu|rouge\w*|pass@?\d*|mmlu|hellaswag|arc"
    r"|gsm8k|piqa|boolq|winogrande|auc|recall|precision|reward|win rate|mcc|r2)\b"
)


@dataclass(frozen=True, slots=True)
class EvaluationPolicy:
    """When an evaluation is a regression.

    All distances are from the best earlier level, the median of the best_of best ones: a single
    lucky one sets no bar. worse, noise: by this share and so many robust standard deviations of
    the last noise_points evaluations around their curve, twice in a row; far, far_noise: at once.
    Shares: 2 % of a loss of 2.2 is 0.044, more than the 0.014 by which final losses of unharmed
    rollbacks of one run differ (2.232-2.246), less than what a corrupted weight cost it (2.175 ->
    2.358, 8 %). Deviations: the best of 60 evaluations lies 2 above their
    mean, and of 18,000 evaluations of pure noise 7 are told with these numbers. robust_bends, few:
    below so many values the noise is estimated high.
    min_points: evaluations before the first verdict; slope_points, slope: of a series whose name
    does not say what is better, after so many with a rank correlation to the step this clear.
    settle: evaluations after which a worse level is the level.
    """

    min_points: int = 4
    best_of: int = 3
    worse: float = 0.02
    noise: float = 6.0
    far: float = 0.05
    far_noise: float = 9.0
    kept: int = 64
    noise_points: int = 32
    robust_bends: int = 20
    few: float = 2.0
    slope_points: int = 6
    slope: float = 0.7
    settle: int = 16


DEFAULT_POLICY = EvaluationPolicy()


class Point(msgspec.Struct, frozen=True, array_like=True):
    """One evaluation."""

    step: int
    time_ns: int
    value: float


class Regression(msgspec.Struct):
    """An open finding: since when, against which best level. seen: evaluations since."""

    step: int
    time_ns: int
    best: float
    best_step: int
    seen: int = 1


class SeriesState(msgspec.Struct):
    """points: the last finite evaluations, without those of an open regression. suspect: the last
    one, if it was worse and is not told yet."""

    points: list[Point] = []
    step: int | None = None
    suspect: Point | None = None
    open: Regression | None = None


class EvaluationState(msgspec.Struct):
    """Of one attempt, by series."""

    attempt: int = 0
    series: dict[str, SeriesState] = {}


def evaluations(keys: Iterable[str], eval_loss: str | None = None) -> list[str]:
    """Of the series of the job, results of evaluations; the evaluation loss first, at most
    MAX_SERIES, in the order of their names."""
    found = [key for key in sorted(keys) if is_evaluation(key) and key != eval_loss]
    return [*([eval_loss] if eval_loss else []), *found][:MAX_SERIES]


@lru_cache(maxsize=1 << 16)
def is_evaluation(key: str) -> bool:
    """Whether a series holds results of an evaluation, by its name."""
    name = spoken(key)
    return bool(_EVALUATION.search(name)) and not _NO_RESULT.search(name)


def direction(key: str, points: Sequence[Point], policy: EvaluationPolicy = DEFAULT_POLICY) -> int:
    """+1 if lower is better, -1 if higher is, 0 if neither the name nor the slope tells.

    A training improves what it evaluates: a clear slope shows which way is better.
    """
    tail = spoken(key).rpartition("/")[2]
    if _LOWER.search(tail):
        return 1
    if _HIGHER.search(tail) or _HIGHER.search(spoken(key)):
        return -1
    if len(points) < policy.slope_points:
        return 0
    order = np.argsort(np.argsort([point.value for point in points]))
    clear = float(np.corrcoef(np.arange(len(points)), order)[0, 1])
    return 0 if abs(clear) < policy.slope else -1 if clear > 0 else 1


def begin(parent: EvaluationState | None, attempt: int, fork_step: int | None) -> EvaluationState:
    """The state of a new attempt: it knows the evaluations of its parent before the fork."""
    state = EvaluationState(attempt)
    for key, known in ({} if parent is None else parent.series).items():
        kept = [p for p in known.points if fork_step is None or p.step < fork_step]
        state.series[key] = SeriesState(points=kept)
    return state


def unread_from(state: EvaluationState, keys: Iterable[str], from_step: int) -> int:
    """From which step on series may hold what was not judged; at most LOOK_BACK_STEPS before
    from_step, so that a series that nobody logs any more does not make every look longer."""
    last = [state.series[key].step if key in state.series else None for key in keys]
    first = min((step + 1 if step is not None else 0 for step in last), default=from_step)
    return max(min(first, from_step), from_step - LOOK_BACK_STEPS)


def feed(
    state: EvaluationState,
    series: Mapping[str, Iterable[tuple[int, int, float]]],
    planned: Sequence[PlannedChange] = (),
    policy: EvaluationPolicy = DEFAULT_POLICY,
) -> list[Finding]:
    """Findings that opened or ended; changes the state. series: name -> (step, time_ns, value) by
    step; what is not newer than the last one that was judged is left out."""
    found: dict[str, Finding] = {}
    for key, rows in series.items():
        known = state.series.setdefault(key, SeriesState())
        for step, time_ns, value in rows:
            if known.step is not None and step <= known.step:
                continue
            known.step = step
            finding = _judge(
                (state.attempt, key), known, Point(step, time_ns, value), planned, policy
            )
            if finding is not None:
                found[finding.key] = finding
    return list(found.values())


def _judge(
    place: tuple[int, str],
    known: SeriesState,
    point: Point,
    planned: Sequence[PlannedChange],
    policy: EvaluationPolicy,
) -> Finding | None:
    better = direction(place[1], known.points, policy)
    if len(known.points) < policy.min_points or not better:
        _learn(known, point, policy)
        return None
    best, best_step = _best(known, better, policy)
    near, far = _limits(known, best, policy)
    worse_by = better * (point.value - best)
    if known.open is not None:
        return _followed(place, known, point, worse_by > near, policy)
    if not math.isfinite(point.value):
        worse_by = math.inf
    if worse_by <= near:
        _forgive(known, point, policy)
        return None
    if worse_by <= far and known.suspect is None:
        known.suspect = point
        return None
    first = known.suspect or point
    known.suspect, known.open = None, Regression(first.step, first.time_ns, best, best_step)
    change = explaining(planned, first.step)
    finding = _finding(place, known.open, point, over=change is not None, change=change)
    if change is not None:
        _settle(known, point)
    return finding


def _forgive(known: SeriesState, point: Point, policy: EvaluationPolicy) -> None:
    """A good evaluation; a single worse one before it was noise, which is to be known too."""
    if known.suspect is not None:
        _learn(known, known.suspect, policy)
    known.suspect = None
    _learn(known, point, policy)


def _followed(
    place: tuple[int, str],
    known: SeriesState,
    point: Point,
    worse: bool,
    policy: EvaluationPolicy,
) -> Finding | None:
    """An open regression ends with a good evaluation, or becomes the level after many bad ones."""
    regression = known.open
    if regression is None:
        return None
    regression.seen += 1
    if worse or not math.isfinite(point.value):
        if regression.seen > policy.settle:
            _settle(known, point)
        return None
    known.open = None
    _learn(known, point, policy)
    return _finding(place, regression, point, over=True)


def _settle(known: SeriesState, point: Point) -> None:
    known.open, known.points = None, [point] if math.isfinite(point.value) else []


def _learn(known: SeriesState, point: Point, policy: EvaluationPolicy) -> None:
    if math.isfinite(point.value):
        known.points.append(point)
        del known.points[: -policy.kept]


def _best(known: SeriesState, better: int, policy: EvaluationPolicy) -> tuple[float, int]:
    """(the best level, the step of the evaluation that stands for it)."""
    ordered = sorted(known.points, key=lambda p: better * p.value)[: policy.best_of]
    chosen = ordered[len(ordered) // 2]
    return chosen.value, chosen.step


def _limits(known: SeriesState, best: float, policy: EvaluationPolicy) -> tuple[float, float]:
    """How far from the best level is worse, and far worse."""
    recent = np.asarray([point.value for point in known.points[-policy.noise_points :]])
    # The second differences of a curve that is learnt are small, those of noise are not.
    bends = np.diff(recent, 2)
    _, scale = center_and_scale(bends)
    if len(bends) < policy.robust_bends:
        # A robust scale of a handful of values is often far too small.
        scale = max(scale, float(np.sqrt(np.mean(bends**2))))
    noise = scale / math.sqrt(6.0) * (1.0 + policy.few / len(bends))
    size = abs(best)
    return (
        max(policy.worse * size, policy.noise * noise),
        max(policy.far * size, policy.far_noise * noise),
    )


def _finding(
    place: tuple[int, str],
    regression: Regression,
    point: Point,
    *,
    over: bool,
    change: PlannedChange | None = None,
) -> Finding:
    attempt, key = place
    moved = f"{number(regression.best)} -> {number(point.value)}"
    title = f"{key} got worse, {moved}, since step {regression.step:,}"
    if over and change is None:
        title = f"{key} was worse from step {regression.step:,}, back by step {point.step:,}"
    return Finding(
        key=f"eval:a{attempt}:{key[:200]}:s{regression.step}",
        detector=DETECTOR,
        kind=KIND,
        severity=FindingSeverity.INFO if change is not None else FindingSeverity.WARN,
        attempt=attempt,
        onset_step=regression.step,
        onset_time_ns=regression.time_ns,
        seen_step=point.step,
        seen_time_ns=point.time_ns,
        title=title,
        series=key,
        closed_step=point.step if over else None,
        closed_time_ns=point.time_ns if over else None,
        evidence=_evidence(regression, point, change, over=over),
        facts={
            "before": regression.best,
            "value": point.value if math.isfinite(point.value) else name_of(point.value),
            "best_step": regression.best_step,
            "rule": "against the best earlier evaluations",
            **({"planned": change.words} if change else {}),
        },
    )


def _evidence(
    regression: Regression, point: Point, change: PlannedChange | None, *, over: bool
) -> tuple[Evidence, ...]:
    rule = (
        f"the best level before was {number(regression.best)} (step {regression.best_step:,}); "
        "worse is 2 % and 6 times its noise twice in a row, or 5 % and 9 times at once"
    )
    found = [Evidence(rule, step=regression.best_step)]
    if change is not None:
        found.append(Evidence(f"planned: {change.words}", step=regression.step, weight=-1))
    elif over:
        back = f"back after {many(regression.seen, 'evaluation')}"
        found.append(Evidence(back, step=point.step, weight=-1))
    return tuple(found)
