"""The page of label rules: what shippers sent lately, and what the rules make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard.access import actor, may_operate, operating
from apps.ingest import labelling, labels_store
from apps.ingest.label_rules import HOLES, OwnRule

EMPTY_ROWS = 2


@require_http_methods(["GET", "HEAD", "POST"])
def labels(request: HttpRequest) -> HttpResponse:
    """Look at the labels, try rules on them, save."""
    project = request.GET.get("project", "")[:200]
    if request.method == "POST":
        return _changed(request, project)
    said = labels_store.rules_of(project)
    return _page(request, project, said.rules)


@operating
def _changed(request: HttpRequest, project: str) -> HttpResponse:
    asked = _read(request.POST)
    if request.POST.get("act") != "save":
        return _page(request, project, asked)
    version = whole(request.POST.get("version", "")) or 0
    try:
        labelling.save(project, asked, version, actor(request), now_ns())
    except AppError as error:
        return _page(request, project, asked, error)
    messages.success(request, "The rules are saved.", extra_tags="ok")
    return redirect(f"{reverse('labels')}?{urlencode({'project': project})}")


def _read(form: QueryDict) -> list[OwnRule]:
    """The rules of the form; a row without a label and a pattern is none."""
    rows = zip(form.getlist("label"), form.getlist("pattern"), strict=False)
    return [OwnRule(label.strip(), pattern.strip()) for label, pattern in rows if label or pattern]


def _page(
    request: HttpRequest, project: str, asked: Sequence[OwnRule], error: AppError | None = None
) -> HttpResponse:
    reads: list[labelling.Read] = []
    try:
        reads = labelling.preview(project, asked)
    except AppError as wrong:
        error = error or wrong
    context: dict[str, Any] = {
        "project": project,
        "projects": labels_store.rule_projects(),
        "said": labels_store.rules_of(project),
        "rules": [*asked, *[OwnRule("", "")] * EMPTY_ROWS],
        "reads": reads,
        "holes": HOLES,
        "error": error,
        "may_operate": may_operate(request),
        "here": "/ingest/",
    }
    status = status_of(error)
    return render(request, "ingest/labels.html", context, status=status)
