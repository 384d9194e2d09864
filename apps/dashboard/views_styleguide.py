"""Every component in every state, on one page: for those who change how Lastgood looks."""

from __future__ import annotations

import re
from functools import lru_cache

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.dashboard.access import may_administer

_SURFACES = ("bg", "panel", "critical-card", "warn-card", "ok-card", "info-card")
_HUES = ("blue", "vermillion", "green", "purple", "amber", "critical", "grey", "text")
_MINUTE_NS = 60_000_000_000


@lru_cache
def _tokens() -> tuple[str, list[str]]:
    """The steps of spacing, and the names of the icons, as the files say them."""
    sprite = (settings.BASE_DIR / "static" / "icons.svg").read_text(encoding="utf-8")
    tokens = (settings.BASE_DIR / "static" / "css" / "tokens.css").read_text(encoding="utf-8")
    steps = ", ".join(re.findall(r"--s\d: (\d+px)", tokens))
    return steps, re.findall(r'<symbol id="([\w-]+)"', sprite)


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """For administrators, and for everybody who has logged in while DEBUG is on; 404 for others."""
    if not (settings.DEBUG or may_administer(request)):
        raise Http404
    steps, icons = _tokens()
    context = {
        "surfaces": _SURFACES,
        "hues": _HUES,
        "icons": icons,
        "steps": steps,
        "states": ("running", "waiting", "no_contact", "failed", "finished", "stopped"),
        "severities": ("page", "warn", "info"),
        "curve": [2.9, 2.4, 2.2, 2.1, 2.05, 2.0, 1.98, 4.6, 3.9, 3.4, 3.2],
        "refused": AppError('"12x" is no number', where="margin", hint="type a whole number"),
        "old_ns": now_ns() - 4 * _MINUTE_NS,
    }
    return render(request, "dashboard/styleguide.html", context)
