"""Pages of evaluations: of a run, of one job, and the suites of a project."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.services import Forbidden
from apps.checkpoints import evaluating, jobs_store, suites
from apps.checkpoints.domain.evaluating import MAX_TIMEOUT_S, MAX_TRIES, PLACEHOLDERS, Suite
from apps.checkpoints.evaluations import MAX_ATTEMPT
from apps.checkpoints.jobs_store import SuiteInfo
from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard import evaluations as page
from apps.dashboard.access import (
    actor,
    administering,
    changing,
    may_administer,
    may_operate,
    operating,
    run_of,
)
from apps.dashboard.names import NO_PROJECT
from apps.runs import store as runs
from apps.runs.records import RunInfo

PROPOSED = Suite("", (), every_steps=None)


@require_http_methods(["GET", "HEAD", "POST"])
def evaluations(request: HttpRequest, key: str) -> HttpResponse:
    """Scores by step, jobs, and a form to ask for one."""
    run = run_of(key)
    return _asked(request, run) if request.method == "POST" else _page(request, run)


@operating
def _asked(request: HttpRequest, run: RunInfo) -> HttpResponse:
    place = _place(request.POST.get("checkpoint", ""))
    suite = whole(request.POST.get("suite", ""))
    try:
        if place is None or suite is None:
            raise AppError("choose a checkpoint and a suite", where="checkpoint")
        job = evaluating.ask(run.id, *place, suite, actor(request), now_ns=now_ns())
    except AppError as error:
        return _page(request, run, error)
    text = f"The checkpoint of step {job.step:,} is in the queue of the suite {job.suite}."
    messages.success(request, text, extra_tags="ok")
    return redirect("evaluations", run.key)


def _place(text: str) -> tuple[int, int] | None:
    """(attempt, step) of "ATTEMPT-STEP"."""
    attempt, _, step = text.partition("-")
    known = (whole(attempt, MAX_ATTEMPT), whole(step))
    return None if known[0] is None or known[1] is None else (known[0], known[1])


def _page(request: HttpRequest, run: RunInfo, error: AppError | None = None) -> HttpResponse:
    context = {
        "run": run,
        "scene": page.scene(run, now_ns()),
        "project": run.project or NO_PROJECT,
        "asked": _place(request.POST.get("checkpoint") or request.GET.get("checkpoint", "")),
        "error": error,
        "may_operate": may_operate(request),
        "programs": suites.programs(),
    }
    status = status_of(error)
    return render(request, "evaluations/run.html", context, status=status)


@require_safe
def evaluation(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """One job with what its command printed."""
    run = run_of(key)
    job = jobs_store.job(run.id, number)
    if job is None:
        raise Http404("no such evaluation")
    context = {
        "run": run,
        "job": job,
        "log": jobs_store.log_text(run.id, number),
        "may_operate": may_operate(request),
    }
    return render(request, "evaluations/job.html", context)


@require_POST
@operating
def cancel(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """Take one back."""
    job = evaluating.cancel(run_of(key).id, number, actor(request), now_ns())
    told = "is taken back" if not job.active else "is taken back and will be killed within seconds"
    messages.success(request, f"The evaluation of step {job.step:,} {told}.", extra_tags="ok")
    return redirect("evaluation", key, number)


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def project_suites(request: HttpRequest, project: str) -> HttpResponse:
    """The suites of a project, and a form for one: new, or with ?suite=N another version of it."""
    name = "" if project == NO_PROJECT else project
    if not runs.newest_runs(name, 1):
        raise Http404("no such project")
    info = _chosen(request, name)
    if request.method == "POST":
        return _saved(request, project, info)
    return _suites(request, project, info, info.suite if info else PROPOSED)


def _chosen(request: HttpRequest, name: str) -> SuiteInfo | None:
    number = whole(request.GET.get("suite", ""))
    if number is None:
        return None
    found = jobs_store.suite(number)
    if found is None or found.project != name:
        raise Http404("no such suite")
    return found


def _saved(request: HttpRequest, project: str, info: SuiteInfo | None) -> HttpResponse:
    name = "" if project == NO_PROJECT else project
    asked = _read_form(request)
    try:
        if info is None:
            suites.add(name, asked, actor(request), now_ns())
        else:
            version = whole(request.POST.get("version", "")) or 0
            suites.change(info.id, asked, version, actor(request), now_ns())
    except AppError as error:
        return _suites(request, project, info, asked, error)
    messages.success(request, f"The suite {asked.name.strip()} is saved.", extra_tags="ok")
    return redirect("suites", project)


def _read_form(request: HttpRequest) -> Suite:
    """What was typed; numbers that are none become ones that are out of range, and are named."""
    sent = request.POST
    every = sent.get("every_steps", "").strip().replace(",", "")
    minutes = whole(sent.get("minutes", "").strip(), MAX_TIMEOUT_S)
    return Suite(
        name=sent.get("name", ""),
        argv=tuple(line for line in sent.get("argv", "").splitlines() if line),
        timeout_s=(minutes or 0) * 60,
        tries=whole(sent.get("tries", "").strip()) or 0,
        every_steps=None if not every else whole(every) or -1,
        enabled=sent.get("enabled") == "yes",
    )


@require_POST
@administering
def remove(request: HttpRequest, project: str, number: int) -> HttpResponse:
    """Take a suite away; what it measured stays."""
    name = "" if project == NO_PROJECT else project
    found = jobs_store.suite(number)
    if found is None or found.project != name:
        raise Http404("no such suite")
    suites.remove(number, actor(request))
    messages.success(request, f"The suite {found.suite.name} is removed.", extra_tags="ok")
    return redirect("suites", project)


def _suites(
    request: HttpRequest,
    project: str,
    info: SuiteInfo | None,
    typed: Suite,
    error: AppError | None = None,
) -> HttpResponse:
    name = "" if project == NO_PROJECT else project
    context: dict[str, Any] = {
        "project": project,
        "named": name or "runs without a project",
        "suites": jobs_store.suites(name),
        "info": info,
        "typed": typed,
        "lines": "\n".join(typed.argv),
        "minutes": typed.timeout_s // 60,
        "programs": suites.programs(),
        "placeholders": PLACEHOLDERS,
        "most_tries": MAX_TRIES,
        "most_minutes": MAX_TIMEOUT_S // 60,
        "error": error,
        "may_administer": may_administer(request),
    }
    status = 403 if isinstance(error, Forbidden) else status_of(error)
    return render(request, "evaluations/suites.html", context, status=status if error else 200)
