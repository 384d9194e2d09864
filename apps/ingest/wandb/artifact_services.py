"""Artifacts of W&B runs, from the first question about one to its commit."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from django.db import transaction

from apps.accounts.records import Actor
from apps.core.clock import now_ns
from apps.core.errors import AppError, BadPayload
from apps.ingest import services
from apps.ingest.envelope import Envelope
from apps.ingest.store import count
from apps.ingest.wandb import artifacts_store
from apps.ingest.wandb.artifact_write import ENDPOINT
from apps.ingest.wandb.artifacts import (
    COMMITTED,
    MAX_ALIASES,
    NO_MANIFEST,
    PENDING,
    ArtifactId,
    Asked,
    unpack_id,
)
from apps.ingest.wandb.copies import uploader
from apps.ingest.wandb.manifest import Logged
from apps.runs import services as runs
from apps.runs import store as runs_store


def create(asked: Asked, writer: str) -> tuple[ArtifactId, str]:
    """The artifact's id and state: PENDING if its manifest is wanted, COMMITTED if nothing is.

    Asked again after a lost answer, or by a second `wandb sync`, it is the same artifact, and
    PENDING again: of COMMITTED the client makes a warning. AppError for one made of a table.
    """
    run = runs_store.get_run(asked.run_key)
    if run is None:
        raise AppError("there is no such run", where=f"run {asked.run_key[:140]}")
    if not asked.wanted:
        count(run.id, {"artifacts_not_kept": 1})
        raise AppError("Lastgood keeps no tables", hint="see docs/wandb.md")
    made = ArtifactId(run.id, asked.key, run.project or asked.project, asked.type, asked.name)
    sender = uploader(run.id, asked.entity, writer)
    with transaction.atomic():
        runs_store.lock_run(run.id)
        attempt = runs.settle_attempt(run.id, sender.attempt, now_ns()).number
        known = artifacts_store.add(run.id, attempt, asked, now_ns())
        if known is None:
            count(run.id, {"artifacts_not_kept": 1})
            return made, COMMITTED
    return made, PENDING


def known(packed: str) -> ArtifactId:
    """The artifact of an id; BadPayload for one that was never given, or not for a run of ours."""
    artifact = unpack_id(packed)
    if not runs_store.keys([artifact.run_id]):
        raise BadPayload("there is no such artifact", where="artifact id")
    return artifact


def commit(artifact: ArtifactId, actor: Actor) -> None:
    """Has the artifact read, by the way every body goes. Nothing to do for one that is not kept."""
    known = artifacts_store.get(artifact.run_id, artifact.key)
    if known is None or known.state != "pending":
        return
    envelope = Envelope(
        version=1,
        batch_id=f"artifact:{artifact.key}",
        endpoint=ENDPOINT,
        encoding="identity",
        run_id=artifact.run_id,
        run_key=runs_store.keys([artifact.run_id])[artifact.run_id],
        token=actor.name,
        received_ns=now_ns(),
        body=orjson.dumps({"artifact": artifact.key}),
        attempt=known.attempt,
    )
    services.accept(envelope, sender=actor, keep_bad=True)


def take_manifest(artifact: ArtifactId, content: bytes | None, size: int) -> None:
    """Keeps a manifest until the artifact is committed; nothing to do afterwards.

    content: None if it was too large.
    """
    with transaction.atomic():
        runs_store.lock_run(artifact.run_id)
        known = artifacts_store.get(artifact.run_id, artifact.key)
        if known is not None and known.state == "pending":
            artifacts_store.put_manifest(artifact.run_id, artifact.key, content or b"", size)


def manifest(artifact: ArtifactId) -> bytes:
    """The manifest as it was put, of one process if several put theirs; an empty one if none is
    kept. BadPayload for one that is too large."""
    kept = artifacts_store.manifests(artifact.run_id, artifact.key)
    return kept[0] if kept else NO_MANIFEST


def drop_files(artifact: ArtifactId, times: int) -> None:
    """Counts files of an artifact, which are not kept."""
    count(artifact.run_id, {"files_not_kept": times, "files_not_kept: artifact": times})


def drop_update(artifact: ArtifactId) -> None:
    """Counts a link or a later description of an artifact, which are not kept."""
    count(artifact.run_id, {"artifact_updates_not_kept": 1})


def logged(artifact: ArtifactId) -> Logged | None:
    """What the client said of an artifact; None if it is not kept."""
    known = artifacts_store.get(artifact.run_id, artifact.key)
    return known.logged if known else None


def change_aliases(
    artifact: ArtifactId, *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> None:
    """Adds and removes aliases of an artifact that is kept; beyond MAX_ALIASES the newest go."""
    with transaction.atomic():
        runs_store.lock_run(artifact.run_id)
        known = artifacts_store.get(artifact.run_id, artifact.key)
        if known is None:
            return
        left = [alias for alias in (*known.logged.aliases, *add) if alias not in remove]
        named = list(dict.fromkeys(left))[:MAX_ALIASES]
        artifacts_store.set_aliases(artifact.run_id, artifact.key, named)
