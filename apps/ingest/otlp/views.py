"""The door for logs of OpenTelemetry: OTLP/HTTP at `/v1/logs`."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from apps.accounts.records import Actor
from apps.ingest.loki.views import sender
from apps.ingest.otlp import answers
from apps.ingest.otlp.parse import parse_json, parse_protobuf
from apps.ingest.pushing import Push, take
from apps.ingest.views import Failure, bad_encoding, door

PUSHES = {
    answers.JSON: Push("otlp", parse_json),
    answers.PROTOBUF: Push("otlp", parse_protobuf),
}
ENCODINGS = ("identity", "gzip", "deflate", "zstd")


def _type_of(request: HttpRequest) -> str:
    return answers.JSON if request.content_type == answers.JSON else answers.PROTOBUF


def as_status(request: HttpRequest, failure: Failure) -> HttpResponse:
    """Errors as google.rpc.Status in the form of the request."""
    kind = _type_of(request)
    body = answers.status(kind, failure.status, failure.words())
    answer = HttpResponse(body, status=failure.status, content_type=kind)
    for name, text in failure.headers().items():
        answer[name.replace("_", "-")] = text
    return answer


def _logs(request: HttpRequest, actor: Actor) -> HttpResponse:
    """200; what could not be taken is told as partial success, so that nobody sends it again."""
    kind = request.content_type or ""
    if kind not in PUSHES:
        hint = f"use {answers.PROTOBUF} or {answers.JSON}"
        return as_status(request, Failure(415, f'"{kind[:60]}" is unknown', "Content-Type", hint))
    encoding = request.headers.get("Content-Encoding", "").strip().lower() or "identity"
    if encoding not in ENCODINGS:
        raise bad_encoding(encoding, ENCODINGS)
    outcome = take(request, actor, PUSHES[kind], encoding)
    body = answers.success(kind, sum(outcome.refused.values()), outcome.words())
    return HttpResponse(body, content_type=kind)


logs = door(_logs, who=sender, say=as_status)
