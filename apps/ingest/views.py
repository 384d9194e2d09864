"""The HTTP doors for data. Cheap on purpose: token, limits, append, answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from apps.accounts.records import Actor
from apps.accounts.services import Forbidden, require, verify_token
from apps.core.clock import now_ns
from apps.core.database import SERVER_TROUBLE, is_too_much, schema_as_trouble
from apps.core.errors import AppError
from apps.core.http import json_error, json_response
from apps.core.words import whole
from apps.ingest import frames, mirrors, services
from apps.ingest.envelope import ENCODINGS, Envelope, batch_id
from apps.ingest.wandb.services import received_live
from apps.logs.domain.parcel.reader import reader_number
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import LaunchSeen

MAX_LAUNCH_BYTES = 64 << 10
View = Callable[..., HttpResponse]


class _Launch(msgspec.Struct, frozen=True):
    slot: Annotated[str, msgspec.Meta(min_length=1, max_length=300, pattern=frames.NO_NUL)]
    launch: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=frames.NO_NUL)]
    started_ns: frames.Whole
    node: frames.Node | None = None
    resume_step: frames.Whole | None = None
    unless_live: bool = False


class _BadHeader(AppError):
    """The body has no length (status 411), is empty (400), larger than it may be (413) or packed
    in an unknown way (415)."""

    def __init__(self, status: int, message: str, hint: str, where: str = "Content-Length") -> None:
        super().__init__(message, hint=hint, where=where)
        self.status = status


def sender(request: HttpRequest) -> Actor:
    """The token's actor; Forbidden without scope ingest."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    actor = verify_token(secret.strip()) if scheme.lower() == "bearer" else None
    return require(actor, "ingest")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a door did not take a body, for whatever form its protocol gives to errors."""

    status: int
    error: str
    where: str = ""
    hint: str = ""
    retry_after_s: int | None = None

    def headers(self) -> dict[str, str]:
        """Headers of the answer, `_` for `-`."""
        return {} if self.retry_after_s is None else {"Retry_After": str(self.retry_after_s)}

    def words(self) -> str:
        """The failure on one line."""
        return str(AppError(self.error, where=self.where, hint=self.hint))


def failure_of(error: Exception, *, known: bool) -> Failure:
    """What to answer for an error of TAKEN. known: the request named a token."""
    if isinstance(error, Forbidden):
        return Failure(403 if known else 401, error.message, hint=error.hint)
    if isinstance(error, services.Refused):
        return Failure(
            error.status, error.message, hint=error.hint, retry_after_s=error.retry_after_s
        )
    if isinstance(error, AppError):
        status = error.status if isinstance(error, _BadHeader) else 400
        return Failure(status, error.message, error.where, error.hint)
    if isinstance(error, UnreadablePostError):
        return Failure(503, str(error), hint="send it again", retry_after_s=1)
    if is_too_much(error):
        return Failure(400, "a name is too long", "body", "use shorter names")
    return Failure(503, "the database is not ready", hint="retry", retry_after_s=2)


TAKEN = (AppError, UnreadablePostError, *SERVER_TROUBLE)
"""What a door answers in the form of its protocol; anything else is a fault of ours."""


def as_json(request: HttpRequest, failure: Failure) -> HttpResponse:
    """The one error shape of our own doors."""
    return json_error(
        failure.status,
        failure.error,
        where=failure.where,
        hint=failure.hint,
        **failure.headers(),
    )


def door(
    view: View,
    who: Callable[[HttpRequest], Actor] = sender,
    say: Callable[[HttpRequest, Failure], HttpResponse] = as_json,
) -> View:
    """POST only, no CSRF (tokens, not cookies), every error in one shape, which `say` makes."""

    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            with schema_as_trouble():
                return view(request, who(request), *args, **kwargs)
        except TAKEN as error:
            known = bool(request.headers.get("Authorization"))
            return say(request, failure_of(error, known=known))

    return csrf_exempt(require_POST(guarded))


def body_of(request: HttpRequest, most_bytes: int) -> bytes:
    """The body of a request that says how long it is. Django reads nothing of one that does not,
    and an empty body must not be answered as if it were data."""
    length = whole(request.headers.get("Content-Length", ""))
    if length is None:
        raise _BadHeader(411, "the length of the body is not known", "send no chunks")
    if length > most_bytes:
        raise _BadHeader(413, f"the body is larger than {most_bytes} bytes", "split it")
    if length == 0:
        raise _BadHeader(400, "the body is empty", "see docs/ingest.md")
    return request.body


def encoding_of(request: HttpRequest) -> str:
    """How the body is packed: one of ENCODINGS."""
    said = request.headers.get("Content-Encoding", "identity").strip().lower() or "identity"
    if said not in ENCODINGS:
        raise bad_encoding(said, ENCODINGS)
    return said


def bad_encoding(said: str, allowed: Sequence[str]) -> AppError:
    """A packing that a door does not know."""
    hint = f"use {', '.join(allowed)}"
    return _BadHeader(415, f'encoding "{said[:40]}" is unknown', hint, "Content-Encoding")


@door
def launches(request: HttpRequest, actor: Actor, key: str) -> HttpResponse:
    """Registers a start and gives its attempt number. Synchronous and idempotent.

    unless_live: not if the run comes from its `wandb` process as well, which would double it.
    """
    seen = frames.decode(body_of(request, MAX_LAUNCH_BYTES), _Launch)
    launch = LaunchSeen(seen.slot, seen.launch, seen.started_ns, seen.node, seen.resume_step)
    if seen.unless_live and received_live(key, launch):
        return json_response({"run": key, "attempt": None, "live": True})
    attempt = runs.register_launch(key, launch)
    return json_response({"run": key, "attempt": attempt, "reader": reader_number()})


class _Mirror(msgspec.Struct, frozen=True):
    source: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
    state: Annotated[str, msgspec.Meta(max_length=40)]
    step: Annotated[int, msgspec.Meta(ge=-1, le=2**62)]
    behind: Annotated[int, msgspec.Meta(ge=0, le=2**62)] | None = None
    error: Annotated[str, msgspec.Meta(max_length=500)] = ""


@door
def mirror(request: HttpRequest, actor: Actor, key: str) -> HttpResponse:
    """Notes how far a puller has mirrored a run. Synchronous; the last word counts."""
    said = frames.decode(body_of(request, MAX_LAUNCH_BYTES), _Mirror)
    run = runs_store.get_run(runs.check_key(key))
    if run is None:
        raise AppError("there is no such run", where="run key", hint="send its lines first")
    state = mirrors.MirrorState(said.source, said.state, said.step, said.behind, said.error)
    mirrors.note_mirror(run.id, state, timezone.now())
    return json_response({"run": key})


@lru_cache(maxsize=10_000)
def run_id_of(key: str) -> int:
    """Runs are never renamed or reused, so their ids may be remembered."""
    return runs_store.ensure_run(runs.check_key(key))


def accept_body(
    request: HttpRequest,
    actor: Actor,
    endpoint: str,
    body: bytes,
    *,
    key: str = "",
    encoding: str = "identity",
) -> str:
    """Takes a body, of the run `key` or of none; its batch id, once it is durable."""
    given = request.headers.get("X-Batch-Id")
    envelope = Envelope(
        version=1,
        batch_id=batch_id(given, endpoint=endpoint, run_key=key, body=body),
        endpoint=endpoint,
        encoding=encoding,
        run_id=run_id_of(key) if key else 0,
        run_key=key,
        token=actor.name,
        received_ns=now_ns(),
        body=body,
    )
    services.accept(envelope, sender=actor)
    return envelope.batch_id


def run_door(endpoint: str) -> View:
    """The door of one protocol for one run."""

    @door
    def view(request: HttpRequest, actor: Actor, key: str) -> HttpResponse:
        encoding = encoding_of(request)
        body = body_of(request, settings.INGEST_MAX_BODY_BYTES)
        batch = accept_body(request, actor, endpoint, body, key=key, encoding=encoding)
        return json_response({"batch": batch}, 202)

    return view
