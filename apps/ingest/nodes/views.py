"""The doors for what happened to machines. They belong to no run.

Bodies are small and are read at once, so that a wrong one is answered in words; what is taken is
durable as at every door.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from apps.accounts.records import Actor
from apps.core.http import json_response
from apps.ingest.alertmanager.parse import parse as parse_alerts
from apps.ingest.inflate import InflateLimits, inflate
from apps.ingest.nodes.parse import NodeBatch, pack
from apps.ingest.views import accept_body, body_of, door, encoding_of

ENDPOINT = "nodes"
MAX_BODY_BYTES = 4 << 20


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


def _body(request: HttpRequest) -> bytes:
    encoding = encoding_of(request)
    limits = InflateLimits(MAX_BODY_BYTES, settings.INGEST_MAX_RATIO)
    return inflate(body_of(request, MAX_BODY_BYTES), encoding, limits)


def _take(request: HttpRequest, actor: Actor, heard: NodeBatch) -> HttpResponse:
    batch = accept_body(request, actor, ENDPOINT, pack(heard))
    left_out = {why: count for why, count in heard.left_out.items() if count}
    return json_response({"batch": batch, "events": len(heard.events), "left_out": left_out}, 202)
