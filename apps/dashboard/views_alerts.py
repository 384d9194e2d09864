"""Pages of alerts: who is told, and what was sent."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.alerts import channels_store, log_store, retrying, rules, rules_store
from apps.alerts.domain.message import Kind, Status
from apps.alerts.domain.routing import Rule
from apps.alerts.domain.rulebook import KINDS
from apps.alerts.log_store import LogQuery
from apps.alerts.store import Address
from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard import alerts as page
from apps.dashboard.access import (
    actor,
    administering,
    changing,
    incident_of,
    may_administer,
    may_operate,
    operating,
)
from apps.incidents import store as incidents
from apps.runs import store as runs

STATUSES = ("", *(status.value for status in Status))


@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    """Rules, channels and the newest messages."""
    context = {**page.overview(now_ns()), **_rights(request), "here": "/alerts/"}
    return render(request, "alerts/page.html", context)


def _rights(request: HttpRequest) -> dict[str, bool]:
    return {"may_operate": may_operate(request), "may_administer": may_administer(request)}


# -- rules


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def new_rule(request: HttpRequest) -> HttpResponse:
    """A rule before it is saved."""
    if request.method == "POST":
        return _save_rule(request, 0)
    return _rule_page(request, Rule(0, ""), 0)


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def rule(request: HttpRequest, number: int) -> HttpResponse:
    """Look at a rule, try it, change it."""
    info = rules_store.info(number)
    if info is None:
        raise Http404("no such rule")
    if request.method == "POST":
        return _save_rule(request, number)
    return _rule_page(request, info.rule, info.version)


def _save_rule(request: HttpRequest, number: int) -> HttpResponse:
    asked = page.rule_of(request.POST, number)
    version = whole(request.POST.get("version", "")) or 0
    if request.POST.get("act") == "try":
        return _rule_page(request, asked, version, tried=page.tried(asked, now_ns()))
    try:
        if number:
            rules.change(number, asked, version, actor(request), now_ns())
        else:
            rules.add(asked, actor(request), now_ns())
    except AppError as error:
        return _rule_page(request, asked, version, error=error)
    messages.success(request, f"The rule “{asked.name.strip()}” is saved.", extra_tags="ok")
    return redirect("alerts")


@require_POST
@administering
def remove_rule(request: HttpRequest, number: int) -> HttpResponse:
    """Incidents that only this rule named go to the default recipients from now on."""
    try:
        rules.remove(number, actor(request))
    except AppError as error:
        raise Http404(error.message) from error
    messages.success(request, "The rule is removed.", extra_tags="ok")
    return redirect("alerts")


def _rule_page(
    request: HttpRequest,
    asked: Rule,
    version: int,
    *,
    tried: dict[str, Any] | None = None,
    error: AppError | None = None,
) -> HttpResponse:
    context = {
        **_rights(request),
        "rule": asked,
        "version": version,
        "kinds": [*KINDS.items(), *((k, k) for k in sorted(asked.kinds) if k not in KINDS)],
        "channels": channels_store.infos(),
        "projects": [name for name, _ in runs.projects() if name],
        "tried": tried or page.tried(asked, now_ns()),
        "error": error,
        "here": request.path,
    }
    status = status_of(error)
    return render(request, "alerts/rule.html", context, status=status)


# -- the delivery log


@require_safe
def deliveries(request: HttpRequest) -> HttpResponse:
    """Every message: to whom, about what, when, how it went."""
    number = whole(request.GET.get("incident", ""))
    query = LogQuery(
        status=_one_of(request.GET.get("status", ""), STATUSES),
        recipient=request.GET.get("to", "")[:254].replace("\0", ""),
        incident=None if number is None else (_run_of(number), number),
        before_ns=whole(request.GET.get("before", "")),
    )
    found = log_store.page(query)
    known = {one.id: one for one in channels_store.infos()}
    context = {
        **_rights(request),
        "log": page.log_rows(found.rows, known),
        "query": query,
        "incident": number,
        "next": found.next_ns,
        "statuses": STATUSES,
        "recipients": [(f"channel:{one.id}", one.name) for one in known.values()],
    }
    return render(request, "alerts/log.html", context)


def _run_of(number: int) -> int:
    """The run of an incident; 0 for the digests, -1 for an incident that there is not."""
    found = incidents.get(number) if number else None
    return found.run_id if found else -1 if number else 0


@require_POST
@operating
def retry(request: HttpRequest) -> HttpResponse:
    """Makes a message due now."""
    form = request.POST
    about = whole(form.get("incident", "")) or 0
    run_id = incident_of(about).run_id if about else 0  # 0: a digest
    kind, seq = _one_of(form.get("kind", ""), list(Kind)), whole(form.get("seq", ""))
    if not kind or seq is None:
        raise Http404("no such message")
    address = Address(run_id, about, form.get("recipient", "")[:254])
    try:
        retrying.retry(address, Kind(kind), seq, actor(request), now_ns())
    except AppError as error:
        messages.error(request, error.message, extra_tags="critical")
    else:
        messages.success(request, "It is tried again now.", extra_tags="ok")
    return redirect("deliveries")


def _one_of(text: str, known: Any) -> str:
    return text if text in known else ""
