"""The push door of Loki, for shippers that know no other: `/loki/api/v1/push`."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from apps.accounts.bearer import secret_in
from apps.accounts.records import Actor
from apps.accounts.services import require, verify_token
from apps.ingest.loki.parse import parse_json, parse_protobuf
from apps.ingest.pushing import Push, take
from apps.ingest.views import Failure, bad_encoding, door

JSON = Push("loki", parse_json)
PROTOBUF = Push("loki", parse_protobuf)
ENCODINGS = ("identity", "gzip", "deflate", "zstd", "snappy")


def sender(request: HttpRequest) -> Actor:
    """The token's actor, of Bearer or as password of Basic; Forbidden without scope ingest."""
    secret = secret_in(request.headers.get("Authorization", ""))
    return require(verify_token(secret) if secret else None, "ingest")


def as_text(request: HttpRequest, failure: Failure) -> HttpResponse:
    """Errors as Loki writes them: one line of text."""
    answer = HttpResponse(f"{failure.words()}\n", status=failure.status, content_type="text/plain")
    for name, text in failure.headers().items():
        answer[name.replace("_", "-")] = text
    return answer


def _encoding(request: HttpRequest) -> str:
    said = request.headers.get("Content-Encoding", "").strip().lower() or "identity"
    if said not in ENCODINGS:
        raise bad_encoding(said, ENCODINGS)
    return said


def _push(request: HttpRequest, actor: Actor) -> HttpResponse:
    """204 if every line was taken. 400 if some were refused, as Loki does: the others are stored,
    and sent again they count once."""
    encoding = _encoding(request)
    if request.content_type == "application/json":
        outcome = take(request, actor, JSON, encoding)
    else:  # what Loki takes for protobuf, too
        outcome = take(request, actor, PROTOBUF, "snappy" if encoding == "identity" else encoding)
    if outcome.refused:
        return as_text(request, Failure(400, f"{outcome.words()} ({outcome.accepted} lines taken)"))
    return HttpResponse(status=204)


push = door(_push, who=sender, say=as_text)
