"""What the `wandb` client asks about artifacts, and how the answers look. Pure.

An id holds all that an answer needs, so that what is not kept needs no row.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
import orjson

from apps.core.errors import BadPayload
from apps.ingest.wandb.graphql import text_of
from apps.ingest.wandb.manifest import Logged
from apps.ingest.wandb.sessions import ENTITY
from apps.ingest.wandb.values import storable

NO_MANIFEST: Final = (
    b'{"version":1,"storagePolicy":"wandb-storage-policy-v1",'
    b'"storagePolicyConfig":{"storageLayout":"V2"},"contents":{}}'
)
PENDING: Final = "PENDING"
COMMITTED: Final = "COMMITTED"
UNREAD: Final = frozenset({"run_table", "wandb-history"})
"""Types the client makes by itself, one for each table. Nobody waits for those, so that they are
refused; for the others a training may wait."""
_MAX_NAME: Final = 128
MAX_ALIASES: Final = 50
_MAX_METADATA_BYTES: Final = 64 << 10


class ArtifactId(msgspec.Struct, frozen=True, array_like=True):
    """An artifact of a run. key: 32 hex digits, the same whenever the client asks again."""

    run_id: Annotated[int, msgspec.Meta(ge=1, le=2**62)]
    key: str
    project: str
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What CreateArtifact says. metadata: strict JSON; {} if it is too large or no object."""

    run_key: str
    entity: str
    project: str
    key: str
    type: str
    name: str
    digest: str
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]
    history_step: int | None

    @property
    def wanted(self) -> bool:
        """Whether it may be a checkpoint, so that its manifest is asked for."""
        return self.type not in UNREAD


def asked_of(variables: Mapping[str, Any]) -> Asked:
    """The artifact of a CreateArtifact; old clients send its fields without `input` around them."""
    given = inner(variables)
    step = given.get("historyStep")
    return Asked(
        run_key=text_of(given, "runName"),
        entity=text_of(given, "entityName"),
        project=text_of(given, "projectName")[:200],
        key=_key(given),
        type=text_of(given, "artifactTypeName")[:_MAX_NAME],
        name=text_of(given, "artifactCollectionName")[:_MAX_NAME],
        digest=text_of(given, "digest")[:_MAX_NAME],
        aliases=aliases_in(given),
        metadata=_metadata(text_of(given, "metadata")),
        history_step=step if isinstance(step, int) and 0 <= step < 2**62 else None,
    )


def inner(variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a mutation, with or without `input` around them."""
    given = variables.get("input")
    return given if isinstance(given, dict) else variables


def _key(given: Mapping[str, Any]) -> str:
    """Processes that write one artifact together share its key; else it is the client's own id."""
    together, own = text_of(given, "distributedID"), text_of(given, "clientID")
    names = ("artifactTypeName", "artifactCollectionName", "digest", "historyStep")
    seed = [together or own or [given.get(name) for name in names], bool(together)]
    text = orjson.dumps(storable(seed))
    return hashlib.sha256(text).hexdigest()[:32]


def _metadata(text: str) -> dict[str, Any]:
    if len(text) > _MAX_METADATA_BYTES:
        return {}
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return storable(found) if isinstance(found, dict) else {}


def pack_id(artifact: ArtifactId) -> str:
    """The id as the client sees it. Base64, as it takes those of W&B apart."""
    return base64.urlsafe_b64encode(msgspec.json.encode(artifact)).decode()


def plain_id(client_id: str) -> str:
    """An id for an artifact that is known by the client's own id only."""
    return base64.urlsafe_b64encode(client_id.encode("utf-8", "replace")).decode()


def unpack_id(text: str) -> ArtifactId:
    """The artifact of an id; BadPayload for one that Lastgood has not given."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=ArtifactId)
    except (ValueError, msgspec.DecodeError):
        raise BadPayload("there is no such artifact", where="artifact id") from None


def created(packed: str, state: str) -> dict[str, Any]:
    """State COMMITTED: the client sends no more of it."""
    sequence = {"latestArtifact": None}
    return {
        "createArtifact": {"artifact": {"id": packed, "state": state, "artifactSequence": sequence}}
    }


def manifest(packed: str, url: str | None) -> dict[str, Any]:
    """Where the manifest is to be put: the first time, or a process's own part of it."""
    file: dict[str, Any] = {"id": packed, "uploadUrl": url, "uploadHeaders": []}
    answer = {"artifactManifest": {"id": packed, "file": file}}
    return {"createArtifactManifest": answer, "updateArtifactManifest": answer}


def files(specs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """For each file that there is nothing to upload: the client takes it for stored already."""
    nodes: list[dict[str, Any]] = [
        {
            # Without its name the 0.16 client dies, and the training waits for it for ever.
            "id": text_of(spec, "name"),
            "name": text_of(spec, "name"),
            "displayName": text_of(spec, "name"),
            "storagePath": None,
            "uploadUrl": None,
            "uploadHeaders": [],
            "uploadMultipartUrls": None,
            "artifact": {"id": text_of(spec, "artifactID")},
        }
        for spec in specs
    ]
    return {"createArtifactFiles": {"files": {"edges": [{"node": node} for node in nodes]}}}


def file_specs(variables: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What CreateArtifactFiles asks addresses for."""
    specs = inner(variables).get("artifactFiles")
    if not isinstance(specs, list) or not all(isinstance(spec, dict) for spec in specs):
        raise BadPayload("must be a list of objects", where="artifactFiles")
    return specs


def described(artifact: ArtifactId, logged: Logged | None, url: str) -> dict[str, Any]:
    """The artifact as a training that waits for it is told. logged: None if it is not kept.

    url: where its manifest is; old clients read it back.
    """
    at_ns = logged.logged_ns if logged else 0
    collection = _collection("ArtifactSequence", artifact.name, artifact.project)
    return {
        "__typename": "Artifact",
        "id": pack_id(artifact),
        "artifactSequence": collection,
        "versionIndex": 0,
        "artifactType": {"name": artifact.type},
        "description": None,
        "metadata": _json(logged.metadata if logged else {}),
        "ttlDurationSeconds": -1,
        "ttlIsInherited": True,
        "tags": [],
        "historyStep": logged.history_step if logged else None,
        "state": COMMITTED,
        "size": 0,
        "digest": artifact.key,
        "digestAlgorithm": "MANIFEST_MD5",
        "commitHash": artifact.key,
        "currentManifest": {"file": {"directUrl": url}},
        "fileCount": 0,
        "createdAt": datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat(),
        "updatedAt": None,
        "aliases": [
            {"__typename": "ArtifactAlias", "id": a, "alias": a, "artifactCollection": collection}
            for a in (logged.aliases if logged else ())
        ],
    }


def _json(values: Mapping[str, Any]) -> str:
    return orjson.dumps(dict(values), option=orjson.OPT_SORT_KEYS).decode()


def linked(found: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """That an artifact, as described, is in another collection too. That is not kept, but a
    training that links its model must not die of it."""
    name, project = text_of(given, "artifactPortfolioName"), text_of(given, "projectName")
    membership = {
        "__typename": "ArtifactCollectionMembership",
        "id": found["id"],
        "versionIndex": 0,
        "createdAt": found["createdAt"],
        "aliases": [],
        "artifactCollection": _collection("ArtifactPortfolio", name, project),
        "artifact": found,
    }
    answer = {"versionIndex": 0, "artifactMembership": membership}
    return {"linkArtifact": answer, "result": answer}


def aliases_in(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The aliases a mutation names."""
    found = given.get("aliases")
    named = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return tuple(text_of(alias, "alias")[:_MAX_NAME] for alias in named[:MAX_ALIASES])


def _collection(kind: str, name: str, project: str) -> dict[str, Any]:
    ours = {
        "id": project,
        "internalId": project,
        "name": project,
        "entity": {"name": ENTITY},
        "entityName": ENTITY,
    }
    return {"__typename": kind, "name": name, "project": ours}
