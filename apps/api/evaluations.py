"""Evaluations of checkpoints: pushed, and read by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from apps.api.auth import caller, needs
from apps.api.lookup import run_of
from apps.checkpoints import evaluations
from apps.checkpoints import evaluations_store as store
from apps.checkpoints.domain import evalfiles
from apps.checkpoints.domain.scores import Measured, Score
from apps.checkpoints.evaluations import Pushed, Taken
from apps.core.clock import now_ns
from apps.core.errors import AppError

router = Router(auth=needs("read"))


class ScoreOut(Schema):
    attempt: int
    suite: str
    task: str
    metric: str
    value: float
    stderr: float | None
    higher_is_better: bool | None
    at_ns: int
    by: str


class StepOut(Schema):
    step: int
    scores: list[ScoreOut]


class EvaluationList(Schema):
    items: list[StepOut]


class MeasuredOut(Schema):
    task: str
    metric: str
    value: float
    stderr: float | None
    higher_is_better: bool | None
    samples: int | None
    part: bool


class ResultOut(Schema):
    attempt: int
    step: int
    suite: str
    at_ns: int
    by: str
    source: str
    model: str
    left_out: int
    scores: list[MeasuredOut]


class ResultList(Schema):
    items: list[ResultOut]


class TakenOut(Schema):
    """new: false if exactly this was said before. left_out: numbers of the file that were none."""

    attempt: int
    step: int
    suite: str
    scores: int
    new: bool
    left_out: int


class ScoreIn(Schema):
    """higher_is_better: leave it out where nobody knows; such a score ranks nothing."""

    task: str
    metric: str
    value: float
    stderr: float | None = None
    higher_is_better: bool | None = None
    samples: int | None = None


class EvaluationIn(Schema):
    """attempt: leave it out for the newest one that has the step."""

    suite: str
    step: int
    scores: list[ScoreIn]
    attempt: int | None = None


def _score(score: Score) -> dict[str, Any]:
    return {name: getattr(score, name) for name in ScoreOut.model_fields}


def _measured(one: Measured) -> dict[str, Any]:
    return {name: getattr(one, name) for name in MeasuredOut.model_fields}


def _result(info: store.ResultInfo) -> dict[str, Any]:
    result = info.result
    return {
        "attempt": result.attempt,
        "step": result.step,
        "suite": result.suite,
        "at_ns": result.at_ns,
        "by": result.by,
        "source": info.source,
        "model": info.model,
        "left_out": info.left_out,
        "scores": [_measured(one) for one in result.measured],
    }


def _taken(taken: Taken) -> dict[str, Any]:
    result = taken.result
    return {
        "attempt": result.attempt,
        "step": result.step,
        "suite": result.suite,
        "scores": len(result.measured),
        "new": taken.new,
        "left_out": taken.left_out,
    }


@router.get(
    "/runs/{key}/evaluations",
    response=EvaluationList,
    summary="What evaluations said, by step",
    description="Of every task and metric the newest score; parts of groups are left out.",
)
def list_evaluations(request: HttpRequest, key: str) -> dict[str, Any]:
    found = evaluations.of_run(run_of(key).id)
    return {"items": [{"step": s, "scores": list(map(_score, found[s]))} for s in found]}


@router.get(
    "/runs/{key}/checkpoints/{attempt}/{step}/evaluations",
    response=ResultList,
    summary="Every score of one checkpoint, newest result first",
)
def list_of_checkpoint(request: HttpRequest, key: str, attempt: int, step: int) -> dict[str, Any]:
    return {"items": [_result(i) for i in store.whole(run_of(key).id, attempt, step)]}


@router.post(
    "/runs/{key}/evaluations",
    response=TakenOut,
    auth=needs("ingest", "operate"),
    summary="Push the scores of an evaluation",
    description="The same scores again are no second result. A later result of the same task and "
    "metric takes the place of the earlier one, which is kept.",
)
def push(request: HttpRequest, key: str, payload: EvaluationIn) -> dict[str, Any]:
    measured = [Measured(**one.model_dump()) for one in payload.scores]
    pushed = Pushed(payload.suite, payload.step, measured, payload.attempt)
    return _taken(_record(key, pushed, request))


@router.post(
    "/runs/{key}/evaluations/file",
    response=TakenOut,
    auth=needs("ingest", "operate"),
    summary="Push a result file as it is",
    description="The body is a results_*.json of lm-evaluation-harness or LightEval. The step is "
    "read from the path of the model in it; say it where that path names none.",
)
def push_file(
    request: HttpRequest, key: str, suite: str, step: int | None = None, attempt: int | None = None
) -> dict[str, Any]:
    found = evalfiles.parse(request.body)
    if step is None and found.step is None:
        named = f'"{found.model[:200]}"' if found.model else "(no path of a model)"
        raise AppError(f"{named} names no step", where="step", hint="add ?step=N to the address")
    at = step if step is not None else found.step or 0
    measured: Sequence[Measured] = found.measured
    pushed = Pushed(suite, at, measured, attempt, found.tool, found.model, found.left_out)
    return _taken(_record(key, pushed, request))


def _record(key: str, pushed: Pushed, request: HttpRequest) -> Taken:
    return evaluations.record(run_of(key).id, pushed, caller(request), now_ns())
