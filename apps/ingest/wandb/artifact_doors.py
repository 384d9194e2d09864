"""Answers to the `wandb` client about artifacts, and the address its manifests are put to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.accounts.records import Actor
from apps.core.database import SERVER_TROUBLE
from apps.core.errors import AppError, BadPayload
from apps.core.http import json_error
from apps.ingest.wandb import artifact_services as services
from apps.ingest.wandb import artifacts
from apps.ingest.wandb.artifacts_store import MAX_MANIFEST_BYTES
from apps.ingest.wandb.graphql import Operation, text_of
from apps.ingest.wandb.putting import received, refused

MANIFEST_LIFE_S = 24 * 3600
MANIFEST_SALT = "lastgood.wandb.manifest"
Answer = Callable[[HttpRequest, Actor, Operation], dict[str, Any]]


def _create(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    writer = request.headers.get("X-Wandb-Client-Id", "")[:64]
    artifact, state = services.create(artifacts.asked_of(asked.variables), writer)
    return artifacts.created(artifacts.pack_id(artifact), state)


def _manifest(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    packed = text_of(asked.variables, "artifactID", "artifactManifestID")
    services.known(packed)
    if not asked.variables.get("includeUpload"):
        return artifacts.manifest(packed, None)
    return artifacts.manifest(packed, _address(request, packed))


def _address(request: HttpRequest, packed: str) -> str:
    ticket = signing.dumps(packed, salt=MANIFEST_SALT)
    return request.build_absolute_uri(reverse("wandb-manifest", args=[ticket]))


def _described(request: HttpRequest, packed: str) -> dict[str, Any]:
    artifact = services.known(packed)
    return artifacts.described(artifact, services.logged(artifact), _address(request, packed))


def _files(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    specs = artifacts.file_specs(asked.variables)
    if specs:
        services.drop_files(services.known(text_of(specs[0], "artifactID")), len(specs))
    return artifacts.files(specs)


def _commit(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    packed = text_of(asked.variables, "artifactID")
    artifact = services.known(packed)
    services.commit(artifact, actor)
    return {"commitArtifact": {"artifact": {"id": packed, "digest": artifact.key}}}


def _use(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    packed = text_of(artifacts.inner(asked.variables), "artifactID")
    services.known(packed)
    return {"useArtifact": {"artifact": {"id": packed}}}


def _by_id(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    return {"artifact": _described(request, text_of(asked.variables, "id"))}


def _aliases(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    given = artifacts.inner(asked.variables)
    artifact = services.known(text_of(given, "artifactID"))
    named = artifacts.aliases_in(given)
    if asked.name == "AddAliases":
        services.change_aliases(artifact, add=named)
    else:
        services.change_aliases(artifact, remove=named)
    return {"result": {"success": True}}


def _update(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    packed = text_of(artifacts.inner(asked.variables), "artifactID")
    services.drop_update(services.known(packed))
    answer = {"artifact": _described(request, packed)}
    return {"updateArtifact": answer, "result": answer}


def _link(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    given = artifacts.inner(asked.variables)
    packed = text_of(given, "artifactID", "artifactId")
    services.drop_update(services.known(packed))
    return artifacts.linked(_described(request, packed), given)


def _client_id(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    """An artifact that refers to another one of the same process by the client's own id."""
    server_id = artifacts.plain_id(text_of(asked.variables, "clientID"))
    return {"clientIDMapping": {"serverID": server_id}}


def _no_artifact(request: HttpRequest, actor: Actor, asked: Operation) -> dict[str, Any]:
    raise AppError(
        "Lastgood gives no artifact back: it keeps where checkpoints lie, not what is in them",
        hint="load it from the path on the page Checkpoints",
    )


ANSWERS: dict[str, Answer] = {
    "ArtifactType": lambda *_: {"project": {"artifact": None}},
    "CreateArtifact": _create,
    "CreateArtifactManifest": _manifest,
    "UpdateArtifactManifest": _manifest,
    "CreateArtifactFiles": _files,
    "CommitArtifact": _commit,
    "UseArtifact": _use,
    "ArtifactByID": _by_id,
    "ArtifactByIDShort": _by_id,
    "ClientIDMapping": _client_id,
    "AddAliases": _aliases,
    "DeleteAliases": _aliases,
    "UpdateArtifact": _update,
    "LinkArtifact": _link,
    "ArtifactMembershipByName": _no_artifact,
}


@csrf_exempt
@require_http_methods(["PUT", "GET"])
def manifest(request: HttpRequest, ticket: str) -> HttpResponse:
    """Takes the manifest of an artifact, answered once it is kept; or gives it back."""
    try:
        packed = signing.loads(ticket, salt=MANIFEST_SALT, max_age=MANIFEST_LIFE_S)
    except signing.BadSignature:
        return json_error(403, "this address is not valid or has expired")
    artifact = artifacts.unpack_id(packed)
    if request.method == "GET":
        return _given_back(artifact)

    def keep() -> None:
        content = received(request, MAX_MANIFEST_BYTES)
        services.take_manifest(artifact, content, int(request.headers["Content-Length"]))

    return refused(request, keep) or HttpResponse()


def _given_back(artifact: artifacts.ArtifactId) -> HttpResponse:
    try:
        return HttpResponse(services.manifest(artifact), content_type="application/json")
    except BadPayload as error:
        return json_error(404, error.message, where=error.where, hint=error.hint)
    except SERVER_TROUBLE:
        return json_error(503, "the database does not answer", hint="retry", Retry_After="2")
