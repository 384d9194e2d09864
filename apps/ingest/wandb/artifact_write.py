"""A committed artifact into the tables: a reference to a checkpoint registers it."""

from __future__ import annotations

import orjson

from apps.checkpoints.services import record
from apps.core.errors import BadPayload
from apps.ingest.envelope import Envelope
from apps.ingest.wandb import artifacts_store
from apps.ingest.wandb.manifest import Reference, checkpoint_of, parse_manifest
from apps.ingest.writes import Written
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import Progress

ENDPOINT = "manifest"


def parse_commit(body: bytes) -> str:
    """The key of the artifact that a body speaks of. BadPayload."""
    try:
        return str(orjson.loads(body)["artifact"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise BadPayload("names no artifact", where="body") from None


def write_artifact(envelope: Envelope, key: str) -> Written:
    """Registers the checkpoint that an artifact speaks of, in the caller's transaction."""
    run_id = envelope.run_id
    known = artifacts_store.get(run_id, key)
    if known is None:
        raise BadPayload("there is no such artifact", where=f"artifact {key[:40]}")
    seen = checkpoint_of(known.logged, _references(run_id, key))
    attempt = runs.settle_attempt(run_id, known.attempt, known.logged.logged_ns).number
    runs_store.note_progress(run_id, attempt, Progress(), None)
    if seen is None:
        artifacts_store.note_not_kept(run_id, key)
        return Written(frozenset({attempt}), {"artifacts_not_kept": 1})
    record(run_id, attempt, [seen], source="wandb")
    artifacts_store.note_checkpoint(run_id, key, attempt, seen.step)
    return Written(frozenset({attempt}), {"checkpoints": 1})


def _references(run_id: int, key: str) -> list[Reference]:
    """What all manifests of the artifact name, each once."""
    found = dict[str, Reference]()
    for content in artifacts_store.manifests(run_id, key):
        found.update((reference.url, reference) for reference in parse_manifest(content))
    return list(found.values())
