"""Every statement about the artifacts of W&B runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import zstandard
from django.db.models import Sum

from apps.core.errors import BadPayload
from apps.ingest.models import WandbArtifact, WandbManifest
from apps.ingest.wandb.artifacts import Asked
from apps.ingest.wandb.manifest import Logged

MAX_ARTIFACTS = 20_000
MAX_MANIFESTS = 20_000
MAX_MANIFEST_BYTES = 32 << 20
"""About 150,000 files."""


@dataclass(frozen=True, slots=True)
class ArtifactInfo:
    """An artifact that may be a checkpoint. step: of the checkpoint it became."""

    key: str
    attempt: int
    logged: Logged
    state: str
    step: int | None


def add(run_id: int, attempt: int, asked: Asked, logged_ns: int) -> ArtifactInfo | None:
    """The artifact, added unless it is known; None if the run has MAX_ARTIFACTS already."""
    known = get(run_id, asked.key)
    if known is not None:
        return known
    if WandbArtifact.objects.filter(run_id=run_id).count() >= MAX_ARTIFACTS:
        return None
    row = WandbArtifact.objects.create(
        run_id=run_id,
        key=asked.key,
        attempt=attempt,
        type=asked.type,
        name=asked.name,
        digest=asked.digest,
        aliases=list(asked.aliases),
        metadata=asked.metadata,
        history_step=asked.history_step,
        logged_ns=logged_ns,
        state="pending",
    )
    return _info(row)


def get(run_id: int, key: str) -> ArtifactInfo | None:
    """One artifact. -- uses the primary key"""
    row = WandbArtifact.objects.filter(run_id=run_id, key=key).first()
    return _info(row) if row else None


def artifacts(run_id: int, limit: int = 1_000) -> list[ArtifactInfo]:
    """The artifacts of a run, newest first. -- uses the primary key"""
    rows = WandbArtifact.objects.filter(run_id=run_id).order_by("-logged_ns")
    return [_info(row) for row in rows[: min(limit, 1_000)]]


def by_checkpoint(run_id: int) -> dict[tuple[int, int], list[ArtifactInfo]]:
    """(attempt, step) of a checkpoint -> the artifacts it was logged as, newest first.

    An alias stands where it was given last, as in W&B.
    """
    found = dict[tuple[int, int], list[ArtifactInfo]]()
    given = set[tuple[str, str]]()
    for artifact in artifacts(run_id):
        logged = artifact.logged
        own = tuple(alias for alias in logged.aliases if (logged.name, alias) not in given)
        given.update((logged.name, alias) for alias in own)
        if artifact.step is not None:
            shown = replace(artifact, logged=replace(logged, aliases=own))
            found.setdefault((artifact.attempt, artifact.step), []).append(shown)
    return found


def set_aliases(run_id: int, key: str, aliases: list[str]) -> None:
    """What the artifact is called besides its name."""
    WandbArtifact.objects.filter(run_id=run_id, key=key).update(aliases=aliases)


def note_checkpoint(run_id: int, key: str, attempt: int, step: int) -> None:
    """The artifact became this checkpoint."""
    rows = WandbArtifact.objects.filter(run_id=run_id, key=key)
    rows.update(state="checkpoint", attempt=attempt, step=step)


def note_not_kept(run_id: int, key: str) -> None:
    """The artifact is no checkpoint: its list of files goes."""
    WandbArtifact.objects.filter(run_id=run_id, key=key).update(state="not kept")
    WandbManifest.objects.filter(run_id=run_id, key=key).delete()


def put_manifest(run_id: int, key: str, content: bytes, size: int) -> None:
    """Keeps a manifest; the same one again changes nothing. size: more than content: too large.

    Once those of an artifact are too large to be read, no further one is kept.
    """
    if _manifest_bytes(run_id, key) > MAX_MANIFEST_BYTES:
        return
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    WandbManifest.objects.get_or_create(
        run_id=run_id,
        key=key,
        md5=md5,
        defaults={
            "content": zstandard.ZstdCompressor(level=3).compress(content),
            "content_bytes": size,
        },
    )


def manifests(run_id: int, key: str) -> list[bytes]:
    """The manifests of an artifact; BadPayload if together they are too large to be read."""
    size = _manifest_bytes(run_id, key)
    if size > MAX_MANIFEST_BYTES:
        raise BadPayload(
            f"lists of {size} bytes, more than {MAX_MANIFEST_BYTES}",
            where="manifest",
            hint="reference only the files of one checkpoint",
        )
    rows = WandbManifest.objects.filter(run_id=run_id, key=key)
    return [_unpacked(row) for row in rows[:MAX_MANIFESTS]]


def _manifest_bytes(run_id: int, key: str) -> int:
    rows = WandbManifest.objects.filter(run_id=run_id, key=key)
    return rows.aggregate(n=Sum("content_bytes"))["n"] or 0


def _unpacked(row: WandbManifest) -> bytes:
    return zstandard.ZstdDecompressor().decompress(
        bytes(row.content), max_output_size=row.content_bytes
    )


def _info(row: WandbArtifact) -> ArtifactInfo:
    logged = Logged(
        type=row.type,
        name=row.name,
        aliases=tuple(row.aliases),
        metadata=row.metadata,
        history_step=row.history_step,
        logged_ns=row.logged_ns,
    )
    return ArtifactInfo(row.key, row.attempt, logged, row.state, row.step)
