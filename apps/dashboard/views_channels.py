"""Pages of one channel: how it is reached, a test, its end."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.alerts import channels, channels_store
from apps.alerts.channels import ChannelAsked, Saved
from apps.alerts.channels_store import ChannelInfo
from apps.alerts.domain.access import PAGERDUTY_URL
from apps.alerts.domain.outgoing import Verdict
from apps.alerts.domain.routing import ChannelKind
from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard.access import (
    actor,
    administering,
    changing,
    may_administer,
    may_operate,
    operating,
)
from apps.dashboard.alerts import KIND_WORDS
from apps.runs import store as runs


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def new_channel(request: HttpRequest) -> HttpResponse:
    """A channel before it is saved; its kind is in the address."""
    kind = _kind(request.GET.get("kind", ""))
    if request.method == "POST":
        return _save(request, kind, None)
    return _page(request, ChannelAsked("", kind), None)


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def channel(request: HttpRequest, number: int) -> HttpResponse:
    """Look at a channel, change it."""
    info = _known(number)
    if request.method == "POST":
        return _save(request, info.kind, info)
    asked = ChannelAsked(info.name, info.kind, project=info.project, enabled=info.enabled)
    return _page(request, asked, info)


@require_POST
@operating
def test(request: HttpRequest, number: int) -> HttpResponse:
    """Sends a test message and says how it went."""
    info = _known(number)
    answer = channels.test(number, actor(request), now_ns())
    if answer.verdict is Verdict.TAKEN:
        messages.success(request, f"“{info.name}” has taken a test message.", extra_tags="ok")
    else:
        text = f"“{info.name}” has not taken the test message: {answer.text}"
        messages.error(request, text, extra_tags="critical")
    return redirect("channel", number) if request.POST.get("back") else redirect("alerts")


@require_POST
@administering
def remove(request: HttpRequest, number: int) -> HttpResponse:
    """Refused while a rule names the channel."""
    info = _known(number)
    try:
        channels.remove(number, actor(request))
    except AppError as error:
        asked = ChannelAsked(info.name, info.kind, project=info.project, enabled=info.enabled)
        return _page(request, asked, info, error)
    messages.success(request, f"The channel “{info.name}” is removed.", extra_tags="ok")
    return redirect("alerts")


def _save(request: HttpRequest, kind: ChannelKind, info: ChannelInfo | None) -> HttpResponse:
    form = request.POST
    asked = ChannelAsked(
        name=form.get("name", ""),
        kind=kind,
        url=form.get("address", ""),
        secret=form.get("secret", ""),
        project=form.get("project", ""),
        enabled=form.get("enabled") == "yes",
    )
    try:
        saved = _saved(request, asked, info)
    except AppError as error:
        return _page(request, asked, info, error)
    if saved.made:  # not by redirect: it would lie in the session until it is shown
        return render(request, "alerts/secret.html", {"name": asked.name, "saved": saved})
    messages.success(request, f"The channel “{asked.name.strip()}” is saved.", extra_tags="ok")
    return redirect("channel", saved.id)


def _saved(request: HttpRequest, asked: ChannelAsked, info: ChannelInfo | None) -> Saved:
    if info is None:
        return channels.add(asked, actor(request), now_ns())
    version = whole(request.POST.get("version", "")) or 0
    return channels.change(info.id, asked, version, actor(request), now_ns())


def _known(number: int) -> ChannelInfo:
    found = channels_store.info(number)
    if found is None:
        raise Http404("no such channel")
    return found


def _kind(text: str) -> ChannelKind:
    try:
        return ChannelKind(text)
    except ValueError:
        raise Http404("no such kind of channel") from None


def _page(
    request: HttpRequest,
    asked: ChannelAsked,
    info: ChannelInfo | None,
    error: AppError | None = None,
) -> HttpResponse:
    context = {
        "asked": asked,
        "info": info,
        "kind": asked.kind.value,
        "kind_words": KIND_WORDS[asked.kind],
        "kinds": [(kind.value, words) for kind, words in KIND_WORDS.items()],
        "projects": [name for name, _ in runs.projects() if name],
        "pagerduty_url": PAGERDUTY_URL,
        "error": error,
        "may_operate": may_operate(request),
        "may_administer": may_administer(request),
        "here": "/alerts/",
    }
    status = status_of(error)
    return render(request, "alerts/channel.html", context, status=status)
