"""Doors that answer for each line: read at once, sort into runs, append all of it or nothing."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import zstandard
from django.conf import settings
from django.http import HttpRequest

from apps.accounts.records import Actor
from apps.core.clock import now_ns
from apps.core.errors import BadPayload
from apps.ingest import entries, labelling, labels_store, services
from apps.ingest.envelope import Envelope, batch_id
from apps.ingest.inflate import InflateLimits, inflate
from apps.ingest.labels import is_run_key
from apps.ingest.pushed import MAX_BYTES, Defaults, Pushed, Seen, sort
from apps.ingest.snappy import unsnap
from apps.ingest.views import body_of, run_id_of

ENDPOINT = "push"
READ_AT_ONCE = 2
"""Bodies that are decoded at the same time: bounds memory, and Python has one core for it."""
SEEN_AGAIN_S = 60.0
MAX_SEEN = 2_000
MAX_NOTED = 20
NOTE_EVERY_S = 1.0
"""A process notes at most MAX_NOTED new sets of labels in this time: a sample is enough, and no
sender may make it write for every body."""
_places = threading.BoundedSemaphore(READ_AT_ONCE)
_noted: dict[tuple[str, str], float] = {}
_next_note_s = 0.0


@dataclass(frozen=True, slots=True)
class Push:
    """One way to push. door: its name. parse: inflated body -> streams."""

    door: str
    parse: Callable[[bytes], Pushed]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the lines of a body. refused: reason -> lines; they are counted."""

    accepted: int
    refused: Mapping[str, int]

    def words(self) -> str:
        """Why lines were refused, "" if none was."""
        return "; ".join(f"{count} lines refused: {why}" for why, count in self.refused.items())


def defaults_of(request: HttpRequest, door: str) -> Defaults:
    """What the headers say of all lines: run, and the project by Lastgood's or Loki's header.

    Loki calls the tenant of a client that names none "fake" or "anonymous".
    """
    run = request.headers.get("X-Lastgood-Run", "").strip()
    if run and not is_run_key(run):
        raise BadPayload("this is not a run key", where="X-Lastgood-Run")
    tenant = request.headers.get("X-Scope-OrgID", "").strip()
    tenant = "" if tenant in ("fake", "anonymous") else tenant
    project = request.headers.get("X-Lastgood-Project", "").strip() or tenant
    if len(project) > 200 or not project.isprintable():
        raise BadPayload("a project has at most 200 characters", where="X-Lastgood-Project")
    return Defaults(run or None, project, door)


def inflated(body: bytes, encoding: str) -> bytes:
    """The body without its packing: identity, gzip, deflate, zstd or snappy (one block).

    BadPayload if it is too large or damaged.
    """
    most = min(MAX_BYTES, settings.INGEST_MAX_INFLATED_BYTES)
    if encoding == "snappy":
        return unsnap(body, most)
    found = inflate(body, encoding, InflateLimits(most, settings.INGEST_MAX_RATIO))
    if len(found) > most:
        raise BadPayload(f"the body is larger than {most} bytes", where="body", hint="split it")
    return found


def take(request: HttpRequest, actor: Actor, push: Push, encoding: str) -> Outcome:
    """Takes the lines of a body into their runs; returns once they are durable.

    A repeated body counts once: its lines of a run are one batch, named by the header X-Batch-Id
    or a hash of the inflated body (clients that compress it anew change the packed one). Raises
    BadPayload for a body that cannot be read at all, Refused as `services.accept_all`.
    """
    said = defaults_of(request, push.door)
    sent = body_of(request, settings.INGEST_MAX_BODY_BYTES)
    with _places:
        body = inflated(sent, encoding)
        table = labelling.table_of(said.project)
        found = sort(push.parse(body), table, said)
        packed = {run: _packed(batch) for run, batch in found.batches.items()}
    seed = (request.headers.get("X-Batch-Id"), hashlib.sha256(body).digest())
    envelopes = [_envelope(push.door, actor, run, data, seed) for run, data in packed.items()]
    services.accept_all(envelopes, sender=actor)
    if found.refused:
        count = labels_store.count_refused
        count(actor.token_id or 0, actor.name, push.door, now_ns(), found.refused)
    _note(said.project, push.door, actor.name, found.seen)
    return Outcome(found.accepted(), found.refused)


def _envelope(
    door: str, actor: Actor, run: str, data: bytes, seed: tuple[str | None, bytes]
) -> Envelope:
    """The lines of one run. seed: the batch id that was given, the hash of the whole body."""
    given, content = seed
    return Envelope(
        version=1,
        batch_id=batch_id(given, endpoint=door, run_key=run, body=content),
        endpoint=ENDPOINT,
        encoding="zstd",
        run_id=run_id_of(run),
        run_key=run,
        token=actor.name,
        received_ns=now_ns(),
        body=data,
    )


def _packed(batch: entries.EntryBatch) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(entries.pack(batch))


def _note(project: str, door: str, token: str, seen: Sequence[Seen]) -> None:
    """Labels for the page that shows what the rules make of them; each once in SEEN_AGAIN_S."""
    global _next_note_s
    now = time.monotonic()
    if now < _next_note_s:
        return
    fresh: dict[str, Seen] = {}
    for one in seen[:MAX_SEEN]:
        key = labels_store.digest(one)
        if _noted.get((project, key), now) <= now and len(fresh) < MAX_NOTED:
            fresh[key] = one
    if not fresh:
        return
    if len(_noted) >= MAX_SEEN:
        _noted.clear()
    _next_note_s = now + NOTE_EVERY_S
    _noted.update({(project, key): now + SEEN_AGAIN_S for key in fresh})
    labels_store.note_labels(project, door, token, now_ns(), fresh)
