"""The addresses the `wandb` client talks to. Nothing that passes is answered with a 4xx here: the
client gives up on one for the rest of its run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import orjson
from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.accounts.bearer import secret_in
from apps.accounts.records import Actor
from apps.accounts.services import Forbidden, require, require_any, verify_token
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.http import json_error, json_response
from apps.ingest import services
from apps.ingest.envelope import Envelope, batch_id
from apps.ingest.store import count
from apps.ingest.views import body_of, door, encoding_of, run_id_of
from apps.ingest.wandb import alerts, artifact_doors, copies, downloads, graphql, rewinds, uploads
from apps.ingest.wandb import services as wandb
from apps.ingest.wandb.putting import received, refused
from apps.ingest.wandb.reading import READS
from apps.runs import store as runs_store

_MAKE_KEY = "manage.py token NAME --scope ingest --wandb"
UPLOAD_LIFE_S = 24 * 3600
UPLOAD_SALT = "lastgood.wandb.upload"
MAX_HEARTBEAT_BYTES = 16
CAN_SKIP = "wandb-core"
"""How a client names itself that goes on when it is given no address for a file. The core has done
so since it exists; the Python uploader before it (0.16) would put to the address None."""
MAX_SKIPPED = 200
"""The core writes the whole answer to its own log once for each file without an address."""
Answer = Callable[[HttpRequest, Actor, graphql.Operation], dict[str, Any]]


def basic_sender(request: HttpRequest) -> Actor:
    """The actor of the header the client sends (see `secret_in`); Forbidden without ingest."""
    return require(_actor(request), "ingest")


def basic_client(request: HttpRequest) -> Actor:
    """The same for who may send or read: each operation asks for its own scope."""
    return require_any(_actor(request), ("ingest", "read"))


def _actor(request: HttpRequest) -> Actor:
    secret = secret_in(request.headers.get("Authorization", ""))
    actor = verify_token(secret) if secret else None
    if actor is None:
        raise Forbidden("this API key is not known", hint=f"make one: {_MAKE_KEY}")
    return actor


def _spoken(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """What is refused, said where the client looks for it: else it prints "<no message>"."""

    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        answer = view(request)
        if answer.status_code in (401, 403):
            said = orjson.loads(answer.content)
            said["errors"] = [{"message": f"{said['error']}: {said['hint']}"}]
            answer.content = orjson.dumps(said)
        return answer

    return answered


def query(request: HttpRequest, actor: Actor) -> HttpResponse:
    """One GraphQL operation. What is wrong with it is said under HTTP 200: that is not retried."""
    body = body_of(request, settings.INGEST_MAX_BODY_BYTES)
    try:
        operation = graphql.parse_request(body)
        read = READS.get(operation.name)
        if read is not None:
            require(actor, "read")
            return json_response({"data": read(operation)})
        answer = _ANSWERS.get(operation.name)
        if answer is not None:
            require_any(actor, _SCOPES.get(operation.name, ("ingest",)))
            return json_response({"data": answer(request, actor, operation)})
        types = graphql.probed_types(operation.query)
        if types:
            return json_response({"data": types})
        kind, why = graphql.unsupported(operation.name)
        count(0, {f"unsupported: {kind}": 1})
        raise AppError(why, hint="see docs/wandb.md")
    except (services.Refused, Forbidden):
        raise
    except AppError as error:
        return json_response({"data": None, "errors": [{"message": str(error)}]})


def _upsert(request: HttpRequest, actor: Actor, asked: graphql.Operation) -> dict[str, Any]:
    seen = graphql.upsert_of(asked.variables)
    done = wandb.upsert(seen, request.body, _client_id(request), actor)
    return graphql.upserted(seen, done.session, inserted=done.inserted)


def _client_id(request: HttpRequest) -> str:
    """Which of several processes that write one run it is; "" if it writes alone."""
    return request.headers.get("X-Wandb-Client-Id", "")[:64]


def _resume(request: HttpRequest, actor: Actor, asked: graphql.Operation) -> dict[str, Any]:
    key = graphql.text_of(asked.variables, "name")
    project = graphql.project_of(asked.variables)
    return graphql.resume_status(wandb.resumable(key, project))


def _files(request: HttpRequest, actor: Actor, asked: graphql.Operation) -> dict[str, Any]:
    """An address for each file that is kept. A client that can do without one for the others is
    given none: it goes on, and the training's network carries nothing that would be dropped."""
    key = graphql.text_of(asked.variables, "run", "name")
    run = runs_store.get_run(key)
    if run is None:
        raise AppError("there is no such run", where=f"run {key[:140]}")
    names = [name[:1_000] for name in graphql.texts_of(asked.variables, "files", 10_000)]
    picky = request.headers.get("User-Agent", "").startswith(CAN_SKIP)
    skipped = [name for name in names if picky and name not in uploads.KEPT]
    refused = len(skipped) == len(names) or len(skipped) > MAX_SKIPPED
    entity = graphql.text_of(asked.variables, "entity", "entityName")
    sender = None if refused else copies.uploader(run.id, entity, _client_id(request))
    if skipped:
        uploads.drop(run.id, skipped)
    if sender is None:
        raise AppError("Lastgood keeps no media and no large files", hint="see docs/wandb.md")
    without, number = frozenset(skipped), sender.attempt or 0
    targets = [
        ("", None) if name in without else (name, _upload_url(request, key, number, name))
        for name in names
    ]
    return graphql.file_targets(key, targets)


def _upload_url(request: HttpRequest, key: str, attempt: int, name: str) -> str:
    ticket = signing.dumps([key, attempt, name], salt=UPLOAD_SALT, compress=True)
    return request.build_absolute_uri(reverse("wandb-upload", args=[ticket]))


def _alert(request: HttpRequest, actor: Actor, asked: graphql.Operation) -> dict[str, Any]:
    run = runs_store.get_run(graphql.text_of(asked.variables, "runName"))
    if run is None:
        return {"notifyScriptableRunAlert": {"success": False}}
    entity, body = graphql.text_of(asked.variables, "entityName"), alerts.packed(asked.variables)
    asking = wandb.sender_of(run.id, entity, _client_id(request))
    sender, moment = copies.hold_alert(run.id, asking, body), now_ns()
    if sender is not None:
        envelope = Envelope(
            version=1,
            batch_id=alerts.batch_of(run.key, body, moment),
            endpoint=alerts.ENDPOINT,
            encoding="identity",
            run_id=run.id,
            run_key=run.key,
            token=actor.name,
            received_ns=moment,
            body=body,
            attempt=sender.attempt,
            writer=sender.name,
        )
        services.accept(envelope, sender=actor, keep_bad=True)
    return {"notifyScriptableRunAlert": {"success": True}}


def _stopped(request: HttpRequest, actor: Actor, asked: graphql.Operation) -> dict[str, Any]:
    key = graphql.text_of(asked.variables, "runId", "run")
    entity = graphql.text_of(asked.variables, "entityName", "entity")
    return {"project": {"run": {"stopped": wandb.is_stopped(key, entity)}}}


def _rewind(request: HttpRequest, actor: Actor, asked: graphql.Operation) -> dict[str, Any]:
    """Changes nothing, so that it may be asked again: the UpsertBucket that follows opens the
    attempt."""
    wanted = graphql.rewind_of(asked.variables)
    wandb.wait_for_lines(now_ns())
    return graphql.rewound(rewinds.find(wanted))


_ANSWERS: dict[str, Answer] = {
    "Viewer": lambda _, actor, __: graphql.viewer(actor.name),
    "GetViewer": lambda _, actor, __: graphql.viewer(actor.name),
    "GetDefaultEntity": lambda _, actor, __: graphql.viewer(actor.name),
    "ServerFeaturesQuery": lambda *_: graphql.features(),
    "UpsertBucket": _upsert,
    "RunResumeStatus": _resume,
    "RunStoppedStatus": _stopped,
    "OrganizationCoreWeaveOrganizationID": lambda *_: {"entity": {"organization": None}},
    "NotifyScriptableRunAlert": _alert,
    "CreateRunFiles": _files,
    "RewindRun": _rewind,
    "RunFiles": lambda request, _, asked: downloads.run_files(request, asked),
    **artifact_doors.ANSWERS,
}
_SCOPES = dict.fromkeys(
    ("Viewer", "GetViewer", "GetDefaultEntity", "ServerFeaturesQuery"), ("ingest", "read")
) | {"RunFiles": ("read",)}
"""Who may ask for what; the rest of _ANSWERS needs ingest."""


def file_stream(
    request: HttpRequest, actor: Actor, entity: str, project: str, key: str
) -> HttpResponse:
    """Lines of the process that writes the run now; answered once they are durable."""
    encoding = encoding_of(request)
    body = body_of(request, settings.INGEST_MAX_BODY_BYTES)
    run_id = run_id_of(key)
    client = request.headers.get("X-Wandb-Async-Client-Id", "")[:64]
    sender = wandb.sender_of(run_id, entity, client)
    if len(body) < MAX_HEARTBEAT_BYTES and body.strip() == b"{}":
        return json_response(wandb.heard(run_id, sender, lines=False))
    identity = f"file_stream/{sender.attempt}/{sender.name}"
    envelope = Envelope(
        version=1,
        batch_id=batch_id(None, endpoint=identity, run_key=key, body=body),
        endpoint="file_stream",
        encoding=encoding,
        run_id=run_id,
        run_key=key,
        token=actor.name,
        received_ns=now_ns(),
        body=body,
        attempt=sender.attempt,
        writer=sender.name,
    )
    if sender.copy is not None:
        envelope = copies.settled(envelope, sender.copy)
    services.accept(envelope, sender=actor, keep_bad=True)
    return json_response(wandb.heard(run_id, sender, lines=True))


@csrf_exempt
@require_http_methods(["PUT"])
def upload(request: HttpRequest, ticket: str) -> HttpResponse:
    """Takes a file that CreateRunFiles gave an address to; a small known one is kept."""
    try:
        key, attempt, name = signing.loads(ticket, salt=UPLOAD_SALT, max_age=UPLOAD_LIFE_S)
    except signing.BadSignature:
        return json_error(403, "this upload address is not valid or has expired")

    def keep() -> None:
        content = received(request, uploads.MAX_BYTES if name in uploads.KEPT else 0)
        run = runs_store.get_run(key)
        if run is not None and content is not None:
            uploads.keep(run.id, attempt, name, content)
        elif run is not None:
            uploads.drop(run.id, [name])

    return refused(request, keep) or HttpResponse()


def run_page(request: HttpRequest, key: str) -> HttpResponse:
    """The address that the client prints for a run leads to the run's page."""
    return redirect("run", key)


@csrf_exempt
def telemetry(request: HttpRequest) -> HttpResponse:
    """What the client reports about itself. Not even read: strangers must keep no thread busy."""
    return HttpResponse()


graphql_door = _spoken(door(query, basic_client))
file_stream_door = door(file_stream, basic_sender)
