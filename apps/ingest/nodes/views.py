"""The doors for what happened to machines. They belong to no run.

Bodies are small and are read at once, so that a wrong one is answered in words; what is taken is
durable as at every door.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from apps.accounts.records import Actor
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.http import json_response
from apps.core.words import whole
from apps.ingest.alertmanager.parse import parse as parse_alerts
from apps.ingest.inflate import InflateLimits, inflate
from apps.ingest.kernel.parse import Sender
from apps.ingest.kernel.parse import parse as parse_kernel
from apps.ingest.nodes.parse import NodeBatch, pack
from apps.ingest.views import accept_body, body_of, door, encoding_of

ENDPOINT = "nodes"
MAX_BODY_BYTES = 4 << 20
MAX_BOOT_S = 2**32
MAX_OFFSET_S = 14 * 3600


@door
def node_events(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Events in our own form."""
    encoding = encoding_of(request)
    body = body_of(request, settings.INGEST_MAX_BODY_BYTES)
    batch = accept_body(request, actor, ENDPOINT, body, encoding=encoding)
    return json_response({"batch": batch}, 202)


@door
def alertmanager(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Notifications of an Alertmanager."""
    return _take(request, actor, parse_alerts(_body(request)))


@door
def kernel(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Lines of a kernel log. ?node=, ?boot_s= and ?utc_offset_s= say what the lines do not."""
    sender = Sender(
        node=request.GET.get("node", "").strip(),
        received_ns=now_ns(),
        boot_ns=_boot_ns(request.GET.get("boot_s", "")),
        offset_s=_offset_s(request.GET.get("utc_offset_s", "0")),
    )
    return _take(request, actor, parse_kernel(_body(request), sender))


def _boot_ns(text: str) -> int | None:
    seconds = whole(text, MAX_BOOT_S)
    if text and seconds is None:
        raise AppError("Unix seconds are expected", where="boot_s", hint="see docs/triage.md")
    return None if seconds is None else seconds * 1_000_000_000


def _offset_s(text: str) -> int:
    seconds = whole(text.removeprefix("-"), MAX_OFFSET_S)
    if seconds is None:
        raise AppError("seconds east of UTC are expected", where="utc_offset_s", hint="e.g. 7200")
    return -seconds if text.startswith("-") else seconds


def _body(request: HttpRequest) -> bytes:
    encoding = encoding_of(request)
    limits = InflateLimits(MAX_BODY_BYTES, settings.INGEST_MAX_RATIO)
    return inflate(body_of(request, MAX_BODY_BYTES), encoding, limits)


def _take(request: HttpRequest, actor: Actor, heard: NodeBatch) -> HttpResponse:
    batch = accept_body(request, actor, ENDPOINT, pack(heard))
    left_out = {why: count for why, count in heard.left_out.items() if count}
    return json_response({"batch": batch, "events": len(heard.events), "left_out": left_out}, 202)
