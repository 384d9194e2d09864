"""Hosts: the fleet, one of them, and commands to take some out of service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from apps.core.clock import now_ns
from apps.core.errors import AppError, NotFound
from apps.dashboard.access import actor, may_operate, operating
from apps.incidents import host_story, hosts
from apps.incidents.domain.storymark import ALWAYS, mark_of
from apps.incidents.store import blames
from apps.nodes import hosts_store
from apps.nodes import services as nodes
from apps.nodes.domain.preparing import prepare as prepared
from apps.nodes.domain.standing import HostState
from apps.nodes.records import HostInfo, HostQuery

PAGE = 50
MAX_CHOSEN = 500
_MAX_TEXT = 255
_STATES = [state.value for state in HostState]


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list is asked for; "" asks for nothing. group: None for all of them."""

    state: str
    q: str
    group: str | None
    run: str

    @property
    def narrow(self) -> bool:
        """Whether anything beside the state is asked for."""
        return bool(self.q or self.run or self.group is not None)

    @property
    def rest(self) -> str:
        """The query string without the state: "&q=gpu-a"."""
        asked = {name: getattr(self, name) for name in ("q", "run") if getattr(self, name)}
        if self.group is not None:
            asked["group"] = self.group
        return f"&{urlencode(asked)}" if asked else ""


def _filter(request: HttpRequest) -> Filter:
    asked = {name: request.GET.get(name, "").strip()[:_MAX_TEXT] for name in ("state", "q", "run")}
    state = asked["state"] if asked["state"] in _STATES else ""
    group = request.GET.get("group")
    known = None if group is None else group[:_MAX_TEXT]
    return Filter(state, asked["q"], known, asked["run"])


@require_safe
def fleet(request: HttpRequest) -> HttpResponse:
    """The hosts, most urgent first; above them those that open incidents blame."""
    asked = _filter(request)
    after = hosts.place_of(request.GET.get("after", "")[: _MAX_TEXT + 60])
    names = hosts.of_run(asked.run) if asked.run else None
    query = HostQuery(
        state=HostState(asked.state) if asked.state else None,
        text=asked.q,
        group=asked.group,
        names=[] if asked.run and names is None else names,
        limit=PAGE,
        after=after,
    )
    found = hosts.rows(query)
    context = {
        "rows": found,
        "asked": asked,
        "later": after is not None,
        "no_run": bool(asked.run) and names is None,
        "fleet": hosts.fleet(),
        "states": _STATES,
        "open": [] if after or asked.narrow or asked.state else blames.blamed_by_open(),
        "next": hosts.mark(found[-1].host) if len(found) == PAGE else "",
        "may_operate": may_operate(request),
    }
    return render(request, "nodes/list.html", context)


def _host_of(name: str) -> HostInfo:
    found = hosts_store.get(name)
    if found is None:
        raise Http404("no such host")
    return found


@require_safe
def host(request: HttpRequest, name: str) -> HttpResponse:
    """One host: where it stands, its story across runs, what to do with it."""
    return _page(request, _host_of(name))


def _page(
    request: HttpRequest, found: HostInfo, error: AppError | None = None, status: int = 200
) -> HttpResponse:
    before = mark_of(request.GET.get("before", ""))
    context: dict[str, Any] = {
        "row": hosts.beside([found], now_ns())[0],
        "host": found,
        "story": host_story.story(found.name, before or ALWAYS),
        "before": before,
        "commands": prepared([found.name], found.standing.reason),
        "states": [s for s in _STATES if s != found.state.value],
        "may_operate": may_operate(request),
        "error": error,
        "typed": request.POST,
    }
    return render(request, "nodes/host.html", context, status=status)


@require_POST
@operating
def mark(request: HttpRequest, name: str) -> HttpResponse:
    """A person says where a host stands."""
    found, wanted = _host_of(name), request.POST.get("state", "")
    try:
        if wanted not in _STATES:
            raise NotFound("choose a state", where="state")
        nodes.mark(
            found.name,
            HostState(wanted),
            actor=actor(request),
            now_ns=now_ns(),
            reason=request.POST.get("reason", ""),
            replaced_by=request.POST.get("replaced_by", ""),
        )
    except AppError as error:
        return _page(request, _host_of(name), error, status=getattr(error, "status", 422))
    messages.success(request, f"{found.name} is {wanted} now.", extra_tags="ok")
    return HttpResponseRedirect(reverse("host", args=[found.name]))


@require_safe
def prepare(request: HttpRequest) -> HttpResponse:
    """The commands that take the chosen hosts out of service, to be copied; none is run here."""
    chosen = list(dict.fromkeys(name for name in request.GET.getlist("host") if name))
    known = hosts_store.known(chosen[:MAX_CHOSEN])
    names = [name for name in chosen[:MAX_CHOSEN] if name in known]
    reason = request.GET.get("reason", "").strip()[:_MAX_TEXT]
    first = next((known[name].standing.reason for name in names), "")
    context = {
        "names": names,
        "unknown": [name for name in chosen[:MAX_CHOSEN] if name not in known][:20],
        "too_many": max(0, len(chosen) - MAX_CHOSEN),
        "reason": reason or first,
        "commands": prepared(names, reason or first) if names else None,
    }
    return render(request, "nodes/prepare.html", context)
