"""What the frame of every page needs."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from apps.core.clock import now_ns
from apps.dashboard import places
from apps.dashboard.access import asker
from apps.dashboard.alert_health import alert_trouble
from apps.dashboard.keys import KEYS
from apps.dashboard.roles import words_of
from apps.dashboard.settings_places import sections
from apps.dashboard.store_health import disk_warning
from apps.incidents import store as incidents


def events_url(request: HttpRequest) -> str:
    """Where this browser finds the event stream: the configured address, else PORT + 1 here."""
    if settings.EVENTS_URL:
        return str(settings.EVENTS_URL)
    host = request.get_host().rsplit(":", 1)[0]
    return f"{request.scheme}://{host}:{settings.PORT + 1}/events"


def address(page: str, *args: object) -> str | None:
    """Where a page is, None if there is none of that name."""
    try:
        return reverse(page, args=args)
    except NoReverseMatch:
        return None


def _run(request: HttpRequest) -> str | None:
    """The key of the run that a page is about, by its address alone."""
    match = request.resolver_match
    return match.kwargs.get("key") if match and request.path.startswith("/runs/") else None


def _project(request: HttpRequest) -> str | None:
    """The project that a page is about, by its address alone; in words where it is none."""
    match = request.resolver_match
    named = match.kwargs.get("project") if match else None
    named = named or request.GET.get("project") or None
    return "No project" if named == "-" else named


def frame(request: HttpRequest) -> dict[str, Any]:
    """Time, event stream, open incidents, rail, warnings; nothing for strangers."""
    moment = now_ns()
    base: dict[str, Any] = {
        "now_ns": moment,
        "now_ms": moment // 1_000_000,
        "cluster_zone": settings.CLUSTER_ZONE,
    }
    if not getattr(getattr(request, "user", None), "is_authenticated", False):
        return base
    return {
        **base,
        "rail": places.rail(request.path, _run(request), address),
        "role": words_of(asker(request)).title.lower(),
        "settings_sections": partial(sections, request.path, address),
        "chosen_project": _project(request),
        "key_groups": KEYS,
        "events_url": events_url(request),
        "open_incidents": cache(incidents.open_count),
        "disk_warning": disk_warning,
        "alert_trouble": alert_trouble,
    }
