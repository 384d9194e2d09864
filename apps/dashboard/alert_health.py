"""Whether alert messages get out, for the frame of every page and for a monitor outside."""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from apps.alerts import deadman
from apps.alerts.domain.deadman import Trouble
from apps.core.clock import now_ns
from apps.core.database import SERVER_TROUBLE
from apps.core.http import json_response

ASK_AGAIN_S = 5.0
_known: list[tuple[float, Trouble | None]] = [(0.0, None)]


def alert_trouble() -> dict[str, object] | None:
    """Why messages do not get out, in words; remembered for ASK_AGAIN_S."""
    until, found = _known[0]
    moment = now_ns()
    if time.monotonic() >= until:
        found = deadman.trouble(moment)
        _known[0] = (time.monotonic() + ASK_AGAIN_S, found)
    if found is None:
        return None
    return {"headline": found.headline(moment), "hint": found.hint}


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """200 while alert messages get out, else 503: for a monitor outside, which also notices when
    nothing here runs any more. Without a login, so it says no more than what is wrong."""
    try:
        found = deadman.trouble(now_ns())
    except SERVER_TROUBLE:
        return json_response({"alerts": "unknown", "postgres": "does not answer"}, 503)
    if found is None:
        return json_response({"alerts": "ok"})
    return json_response({"alerts": found.fault.value, "waiting": found.waiting}, 503)
