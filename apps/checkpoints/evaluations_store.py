"""Every statement against what evaluations said."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from django.db.models.functions import Greatest

from apps.checkpoints.domain.scores import Measured, Result, headline
from apps.checkpoints.models import EvaluationResult
from apps.core.plain import packed

MAX_RESULTS = 2_000
"""Of a run at once: 400 checkpoints with 5 suites each."""


@dataclass(frozen=True, slots=True)
class NewResult:
    """A result, ready to be written. digest: of its scores. source: what it came from."""

    result: Result
    digest: str
    source: str
    model: str
    left_out: int


@dataclass(frozen=True, slots=True)
class ResultInfo:
    """A stored result. score_count: all of them; result.measured holds what was asked for."""

    result: Result
    digest: str
    source: str
    model: str
    score_count: int
    left_out: int


def add(run_id: int, new: NewResult) -> bool:
    """Writes a result; False if the same scores are there already: then they are said anew."""
    key = {
        "run_id": run_id,
        "attempt": new.result.attempt,
        "step": new.result.step,
        "suite": new.result.suite,
        "digest": new.digest,
    }
    row, made = EvaluationResult.objects.get_or_create(
        **key,
        defaults={
            "source": new.source,
            "model": new.model,
            "at_ns": new.result.at_ns,
            "said_by": new.result.by,
            "headline": packed(headline(new.result.measured)),
            "scores": packed(new.result.measured),
            "score_count": len(new.result.measured),
            "left_out": new.left_out,
        },
    )
    if not made:
        at_ns = Greatest("at_ns", new.result.at_ns)
        EvaluationResult.objects.filter(pk=row.pk).update(at_ns=at_ns)
    return made


def headlines(run_id: int) -> list[Result]:
    """The newest results of a run with their headline scores. -- uses the primary key"""
    return [info.result for info in infos(run_id)]


def infos(run_id: int, limit: int = MAX_RESULTS) -> list[ResultInfo]:
    """The same with what pages show beside them, newest first."""
    rows = EvaluationResult.objects.filter(run_id=run_id).defer("scores")
    return [_info(row, row.headline) for row in rows.order_by("-at_ns", "-step")[:limit]]


def whole(run_id: int, attempt: int, step: int) -> list[ResultInfo]:
    """The results of one checkpoint with all their scores, newest first."""
    rows = EvaluationResult.objects.filter(run_id=run_id, attempt=attempt, step=step)
    return [_info(row, row.scores) for row in rows.order_by("-at_ns")[:100]]


def count(run_id: int) -> int:
    """How many results a run has."""
    return EvaluationResult.objects.filter(run_id=run_id).count()


def _info(row: EvaluationResult, scores: object) -> ResultInfo:
    measured = msgspec.convert(scores, tuple[Measured, ...])
    result = Result(row.attempt, row.step, row.suite, row.at_ns, row.said_by, measured)
    return ResultInfo(result, row.digest, row.source, row.model, row.score_count, row.left_out)
