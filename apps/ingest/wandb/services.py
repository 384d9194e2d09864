"""Processes of the `wandb` client: which attempt each writes, where one that resumes goes on."""

from __future__ import annotations

import hashlib
import time

import redis
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.ingest import services, stream
from apps.ingest.store import count
from apps.ingest.wandb import store
from apps.ingest.wandb.graphql import Resumable, Upsert
from apps.ingest.wandb.lines import EVENTS, HISTORY, OUTPUT
from apps.ingest.writes import too_large
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import LaunchSeen, Progress

SLOT = "wandb"
PATIENCE_S = 5.0
"""How long a process that resumes waits for its run's last lines to be written."""


def upsert(seen: Upsert, body: bytes, writer: str = "") -> bool:
    """Notes what the client says of the run; whether the run is new.

    writer: id of the process if several write one run; those that start together share an attempt.

    The first request of a process opens its attempt. Sent again after a lost answer, before any
    line, it is the same process. A copy that `wandb sync` sends again is the same process too.
    AppError for a run that belongs to another project.
    """
    known = runs_store.get_run(runs.check_key(seen.key))
    if known is not None and known.project not in ("", seen.project):
        raise AppError(
            f'the run id "{seen.key}" is taken by the project "{known.project}"',
            where="run id",
            hint="ids are unique over all projects: choose another id",
        )
    run_id = runs_store.ensure_run(seen.key)
    with transaction.atomic():
        runs_store.lock_run(run_id)
        if seen.first and writer:
            runs.register_launch(seen.key, _shared(writer, now_ns()))
        elif seen.first:
            _begin(run_id, seen, hashlib.sha256(body).hexdigest())
        attempt = runs.settle_attempt(run_id, attempt_of(run_id, writer), now_ns())
        progress = Progress(project=seen.project, config=seen.config)
        lost = runs_store.note_progress(run_id, attempt.number, progress, timezone.now())
        count(run_id, too_large(lost))
    return known is None


def _shared(writer: str, at_ns: int) -> LaunchSeen:
    return LaunchSeen(f"{SLOT}:{writer}", writer, at_ns)


def attempt_of(run_id: int, writer: str) -> int | None:
    """The attempt of the process that writes the run now, or of this writer of several."""
    known = runs_store.launch_attempt(run_id, _shared(writer, 0)) if writer else None
    current = store.process(run_id) if known is None else None
    return current.attempt if current else known


def _begin(run_id: int, seen: Upsert, said: str) -> None:
    """Opens the attempt of the process that sends this; lines of one that resumes count on."""
    current = store.process(run_id)
    if current is not None and current.said == said and not current.begun:
        return
    at_ns = now_ns()
    copy = hashlib.sha256(seen.settings.encode()).hexdigest()
    launch = LaunchSeen(SLOT, f"sync {copy}" if seen.copied else f"{at_ns} {said}", at_ns, None)
    attempt = runs.register_launch(seen.key, launch)
    if seen.resumed and current is not None and current.attempt != attempt:
        store.continue_lines(run_id, current.attempt, attempt)
    store.set_process(run_id, attempt, said)


def resumable(key: str, project: str) -> Resumable | None:
    """Where a process that resumes the run goes on; None if there is nothing to resume.

    Raises services.Refused (503) while lines of the run may still wait to be written: their
    number and the last step must be known for sure.
    """
    run = runs_store.get_run(runs.check_key(key))
    current = store.process(run.id) if run else None
    if run is None or current is None or run.project not in ("", project):
        return None
    if settings.INGEST_ACK != "commit":
        _wait_until_written(now_ns())
    ends = store.ends(run.id, current.attempt)
    history, events = ends.get(HISTORY, (0, "")), ends.get(EVENTS, (0, ""))
    return Resumable(
        project=run.project or project,
        key=key,
        config=run.config,
        history=history[0],
        events=events[0],
        output=ends.get(OUTPUT, (0, ""))[0],
        history_tail=history[1],
        events_tail=events[1],
    )


def _wait_until_written(asked_ns: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while _oldest_ns() <= asked_ns:
        if time.monotonic() > end:
            raise services.Refused(
                "the writer is behind", status=503, retry_after_s=5, hint="send it again"
            )
        time.sleep(0.05)


def _oldest_ns() -> int:
    """Arrival of the oldest entry that is not written; far in the future if all are."""
    try:
        return stream.backlog().oldest_ns or 2**62
    except redis.RedisError as error:
        raise services.Refused(
            "the stream does not answer", status=503, retry_after_s=2, hint="send it again"
        ) from error


def received_live(key: str, launch: LaunchSeen) -> bool:
    """Whether a `wandb` client has sent the run here, and this start of a file is not known yet."""
    run = runs_store.get_run(runs.check_key(key))
    if run is None or runs_store.launch_attempt(run.id, launch) is not None:
        return False
    return store.process(run.id) is not None or runs_store.knows_slot(run.id, f"{SLOT}:")
