"""The door for dumps of PyTorch's flight recorder."""

from __future__ import annotations

from typing import Any

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from apps.accounts.records import Actor
from apps.core.clock import now_ns
from apps.core.errors import BadPayload
from apps.core.http import json_response
from apps.core.words import whole
from apps.ingest.inflate import InflateLimits, inflate
from apps.ingest.views import body_of, door, encoding_of
from apps.logs import flight
from apps.logs.domain.triage.flight_dump import MAX_DUMP_BYTES
from apps.runs import services as runs
from apps.runs import store as runs_store

MAX_DUMPS_IN_A_LIST = 4_096
_FORMS = "one dump with ?rank=N, or a JSON list of {rank, dump}"


class _Listed(msgspec.Struct, frozen=True):
    rank: int
    dump: msgspec.Raw


_LIST = msgspec.json.Decoder(list[_Listed])


@door
def flight_recorder(request: HttpRequest, actor: Actor, key: str) -> HttpResponse:
    """Takes the dump of one rank (?rank=), or a JSON list of them. Synchronous and idempotent."""
    encoding = encoding_of(request)
    packed = body_of(request, min(settings.INGEST_MAX_BODY_BYTES, MAX_DUMP_BYTES))
    limits = InflateLimits(MAX_DUMP_BYTES, settings.INGEST_MAX_RATIO)
    bodies = _bodies(request, inflate(packed, encoding, limits))
    run_id, attempt = _place(key, _number(request, "attempt"))
    new = flight.take(run_id, attempt, bodies, now_ns())
    answer: dict[str, Any] = {"run": key, "attempt": attempt, "ranks": len(bodies), "new": new}
    return json_response(answer)


def _bodies(request: HttpRequest, body: bytes) -> dict[int, bytes]:
    if body.lstrip()[:1] != b"[":
        rank = _number(request, "rank")
        if rank is None:
            raise BadPayload("a dump does not say its rank", where="query.rank", hint=_FORMS)
        return {rank: body}
    try:
        listed = _LIST.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadPayload(f"the list cannot be read: {error}", where="body", hint=_FORMS) from error
    if not 0 < len(listed) <= MAX_DUMPS_IN_A_LIST:
        hint = "send several lists"
        raise BadPayload(f"1 to {MAX_DUMPS_IN_A_LIST:,} dumps", where="body", hint=hint)
    found = {one.rank: bytes(one.dump) for one in listed}
    if len(found) < len(listed):
        raise BadPayload("a rank is there twice", where="body", hint="one dump of each rank")
    return found


def _number(request: HttpRequest, name: str) -> int | None:
    said = request.GET.get(name)
    number = whole(said) if said is not None else None
    if said is not None and (number is None or number >= 2**31):
        raise BadPayload("expected a whole number", where=f"query.{name}", hint=_FORMS)
    return number


def _place(key: str, number: int | None) -> tuple[int, int]:
    """The run and the attempt, the newest if none is said."""
    run = runs_store.get_run(runs.check_key(key))
    found = runs_store.attempt(run.id, number) if run is not None else None
    if run is None or found is None:
        hint = "send its lines or announce its start first"
        raise BadPayload("there is no such attempt", where="run, query.attempt", hint=hint)
    return run.id, found.number
