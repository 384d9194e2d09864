"""Evaluations of checkpoints: pushed, and read by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.lookup import capped, run_of
from apps.checkpoints import evaluating, evaluations, jobs_store
from apps.checkpoints import evaluations_store as store
from apps.checkpoints import store as checkpoints
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


class JobOut(Schema):
    """state: waiting, running, done, failed or cancelled. cancelled_by: who wants it to end."""

    id: int
    attempt: int
    step: int
    suite_id: int
    suite: str
    state: str
    active: bool
    tries: int
    evaluator: str
    asked_by: str
    asked_at_ns: int
    due_ns: int
    started_at_ns: int | None
    ended_at_ns: int | None
    cancelled_by: str
    exit_code: int | None
    reason: str
    log_bytes: int


class JobList(Schema):
    items: list[JobOut]


class JobLogOut(JobOut):
    """log: the first 64 KiB and the last 192 KiB of what the command printed."""

    log: str


class JobIn(Schema):
    """suite: the name of a suite of the run's project. attempt: leave it out for the newest one
    that saved the step."""

    suite: str
    step: int
    attempt: int | None = None


def _job(job: jobs_store.JobInfo) -> dict[str, Any]:
    return {name: getattr(job, name) for name in JobOut.model_fields} | {"state": job.state.value}


@router.get(
    "/runs/{key}/evaluations/jobs",
    response=JobList,
    summary="Evaluations in the background, newest first",
)
def list_jobs(request: HttpRequest, key: str, limit: int = 50) -> dict[str, Any]:
    return {"items": [_job(job) for job in jobs_store.jobs(run_of(key).id, capped(limit))]}


@router.get(
    "/runs/{key}/evaluations/jobs/{number}",
    response=JobLogOut,
    summary="One of them, with its log",
)
def get_job(request: HttpRequest, key: str, number: int) -> dict[str, Any]:
    run_id = run_of(key).id
    found = jobs_store.job(run_id, number)
    if found is None:
        raise Missing("no such evaluation in this run", where="number")
    return _job(found) | {"log": jobs_store.log_text(run_id, number)}


@router.post(
    "/runs/{key}/evaluations/jobs",
    response=JobOut,
    auth=needs("operate"),
    summary="Evaluate a checkpoint in the background",
    description="One that has not ended is the answer to a second question for the same.",
)
def ask_for_job(request: HttpRequest, key: str, payload: JobIn) -> dict[str, Any]:
    run = run_of(key)
    by_name = {one.suite.name: one.id for one in jobs_store.suites(run.project)}
    attempt = payload.attempt
    if attempt is None:
        saved = checkpoints.at_step(run.id, payload.step)
        attempt = saved[0].attempt if saved else 0
    suite = by_name.get(payload.suite, 0)
    who, at_ns = caller(request), now_ns()
    return _job(evaluating.ask(run.id, attempt, payload.step, suite, who, now_ns=at_ns))


@router.post(
    "/runs/{key}/evaluations/jobs/{number}/cancel",
    response=JobOut,
    auth=needs("operate"),
    summary="Take one back; twice is once",
)
def cancel_job(request: HttpRequest, key: str, number: int) -> dict[str, Any]:
    return _job(evaluating.cancel(run_of(key).id, number, caller(request), now_ns()))
