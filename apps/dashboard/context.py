"""What the frame of every page needs."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from apps.core.clock import now_ns
from apps.dashboard.alert_health import alert_trouble
from apps.dashboard.store_health import disk_warning
from apps.incidents import store as incidents

_SECTIONS = (
    ("/incidents/", "incidents"),
    ("/alerts/", "alerts"),
    ("/ingest/", "ingest"),
    ("/audit/", "audit"),
    ("/storage/", "storage"),
    ("/goodput/", "goodput"),
    ("/runs/", "runs"),
)


def events_url(request: HttpRequest) -> str:
    """Where this browser finds the event stream: the configured address, else PORT + 1 here."""
    if settings.EVENTS_URL:
        return str(settings.EVENTS_URL)
    host = request.get_host().rsplit(":", 1)[0]
    return f"{request.scheme}://{host}:{settings.PORT + 1}/events"


def _section(path: str) -> str:
    found = (name for prefix, name in _SECTIONS if path.startswith(prefix))
    return "runs" if path == "/" else next(found, "")


def frame(request: HttpRequest) -> dict[str, Any]:
    """Time, event stream, open incidents, section, warnings; nothing for strangers."""
    moment = now_ns()
    base: dict[str, Any] = {"now_ns": moment, "now_ms": moment // 1_000_000}
    if not getattr(getattr(request, "user", None), "is_authenticated", False):
        return base
    return {
        **base,
        "section": _section(request.path),
        "events_url": events_url(request),
        "open_incidents": incidents.open_count,
        "disk_warning": disk_warning,
        "alert_trouble": alert_trouble,
    }
