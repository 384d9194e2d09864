"""Processes of the `wandb` client: which attempt each writes, where one that resumes goes on."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts.records import SYSTEM, Actor
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.ingest import services, stream
from apps.ingest.store import count
from apps.ingest.wandb import process_store as processes
from apps.ingest.wandb import rewinds, store
from apps.ingest.wandb.graphql import Resumable, Upsert
from apps.ingest.wandb.lines import EVENTS, HISTORY, OUTPUT
from apps.ingest.wandb.places import note_place
from apps.ingest.wandb.process_store import Copy, Identity
from apps.ingest.wandb.sessions import Session, Told, copy_name, session_of
from apps.ingest.writes import too_large
from apps.runs import services as runs
from apps.runs import stops
from apps.runs import store as runs_store
from apps.runs.records import LaunchSeen, Progress

SLOT = "wandb"
PATIENCE_S = 5.0
"""How long a process that resumes waits for its run's last lines to be written."""


@dataclass(frozen=True, slots=True)
class Upserted:
    """inserted: the run is new. session: of the process that asked."""

    inserted: bool
    session: Session


@dataclass(frozen=True, slots=True)
class Sender:
    """Whose request it is. attempt: None while it is not known. copy: it comes from a synced one.

    writer: id of the process if several write the attempt.
    """

    attempt: int | None
    writer: str = ""
    copy: Copy | None = None

    @property
    def name(self) -> str:
        """What tells its lines from those of others, until they are stored under its attempt."""
        return copy_name(self.copy.number) if self.copy else self.writer


def upsert(seen: Upsert, body: bytes, writer: str = "", actor: Actor = SYSTEM) -> Upserted:
    """Notes what the client says of the run.

    writer: id of the process if several write one run; those that start together share an attempt.

    The first request of a process opens its attempt. Sent again after a lost answer, before any
    line, it is the same process. A copy that `wandb sync` sends opens none: its lines tell whose
    they are. AppError for a run that belongs to another project.
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
        session = _session(run_id, seen, body, writer)
        if seen.first and seen.told is not None and session.attempt is not None:
            rewinds.give_up(run_id, session.attempt, seen.told, actor)
        config = dict(seen.config)
        if session.copy is not None and known is not None:
            # A copy may be older than what the run says of itself now.
            config = {name: said for name, said in config.items() if name not in known.config}
        progress = Progress(project=seen.project, config=config)
        at = session.attempt or 0
        count(run_id, too_large(runs_store.note_progress(run_id, at, progress, timezone.now())))
        if session.attempt is not None:
            note_place(run_id, session.attempt, seen.facts)
    return Upserted(known is None, session)


def _session(run_id: int, seen: Upsert, body: bytes, writer: str) -> Session:
    said = _said(seen, body)
    if seen.first and seen.copied:
        return Session(copy=processes.begin_copy(run_id, said, seen.told, now_ns()))
    if seen.first and writer:
        attempt = runs.register_launch(seen.key, shared_launch(writer, now_ns()))
        processes.add_process(run_id, attempt, said, now_ns(), writer)
        return Session(attempt=attempt)
    if seen.first:
        return Session(attempt=_begin(run_id, seen, said))
    sender = sender_of(run_id, seen.entity, writer)
    if sender.copy is not None:
        processes.identify_copy(run_id, sender.copy.number, seen.writer_id)
        return Session(copy=sender.copy.number)
    attempt = runs.settle_attempt(run_id, sender.attempt, now_ns()).number
    if seen.writer_id:
        identity = Identity(seen.writer_id, seen.node, seen.root)
        processes.identify(run_id, attempt, sender.writer, identity)
    return Session(attempt=attempt if sender.attempt is None else sender.attempt)


def _said(seen: Upsert, body: bytes) -> str:
    """What tells the first request of a process from that of another.

    Old clients send it anew whenever the run's name or tags change: the start in it stays.
    """
    stays = f"{seen.host} {seen.started}".encode() if seen.started and not seen.copied else body
    return hashlib.sha256(stays).hexdigest()


def shared_launch(writer: str, at_ns: int) -> LaunchSeen:
    """The start of one of several processes that write one run."""
    return LaunchSeen(f"{SLOT}:{writer}", writer, at_ns)


def sender_of(run_id: int, entity: str, writer: str = "") -> Sender:
    """Whose request it is, by the entity it names or by the id of one of several writers.

    The newest process of the run if it names nothing that was given to one.
    """
    if writer:
        known = runs_store.launch_attempt(run_id, shared_launch(writer, 0))
        if known is not None:
            return Sender(known, writer)
    named = session_of(entity)
    copy = None if named.copy is None else processes.copy(run_id, named.copy)
    if copy is not None:
        return Sender(copy.attempt, copy=copy)
    return Sender(processes.lone_attempt(run_id, named.attempt), writer)


def heard(run_id: int, sender: Sender, *, lines: bool) -> dict[str, Any]:
    """Notes that a process is alive; what its post is answered. lines: it was no heartbeat.

    The answer tells a process to stop, if a person asked for that.
    """
    moment, stopped = now_ns(), False
    if sender.attempt is not None and sender.copy is None:
        processes.hear(run_id, sender.attempt, sender.writer, moment, lines=lines)
        stopped = stops.deliver(run_id, sender.attempt, moment)
    if not lines:
        runs_store.note_progress(run_id, sender.attempt or 0, Progress(), timezone.now())
    return {"exitcode": None, "limits": {}, **({"stopped": True} if stopped else {})}


def is_stopped(key: str, entity: str) -> bool:
    """Whether the process of an old client, which asks this again and again, is to stop."""
    run = runs_store.get_run(key)
    sender = sender_of(run.id, entity) if run else Sender(None)
    if run is None or sender.attempt is None or sender.copy is not None:
        return False
    return stops.deliver(run.id, sender.attempt, now_ns())


def _begin(run_id: int, seen: Upsert, said: str) -> int:
    """The attempt of the process that sends this; lines of one that resumes count on."""
    current = processes.newest(run_id)
    if current is not None and current.said == said and (seen.started or not current.begun):
        return current.attempt
    at_ns = now_ns()
    launch = LaunchSeen(SLOT, f"{at_ns} {said}", at_ns, seen.host)
    attempt = runs.register_launch(seen.key, launch)
    if seen.told is not None:
        store.continue_lines(run_id, attempt, seen.told.lines, _tails(run_id, seen.told))
    processes.add_process(run_id, attempt, said, at_ns)
    return attempt


def _tails(run_id: int, told: Told) -> dict[str, str]:
    """file -> last line that a process goes on from, of those that it may be asked for."""
    if told.step is not None:
        return rewinds.last_lines(told.step)
    return {file: tail for file, (_, tail) in store.ends(run_id, told.attempt).items()}


def _told(run_id: int, attempt: int) -> Told:
    ends = store.ends(run_id, attempt)
    return Told(attempt, *(ends.get(file, (0, ""))[0] for file in (HISTORY, EVENTS, OUTPUT)))


def resumable(key: str, project: str) -> Resumable | None:
    """Where a process that resumes the run goes on; None if there is nothing to resume.

    Raises services.Refused (503) while lines of the run may still wait to be written: their
    number and the last step must be known for sure.
    """
    run = runs_store.get_run(runs.check_key(key))
    current = processes.newest(run.id) if run else None
    if run is None or current is None or run.project not in ("", project):
        return None
    wait_for_lines(now_ns())
    ends, told = store.ends(run.id, current.attempt), _told(run.id, current.attempt)
    return Resumable(
        project=run.project or project,
        key=key,
        config=run.config,
        history=told.history,
        events=told.events,
        output=told.output,
        history_tail=ends.get(HISTORY, (0, ""))[1],
        events_tail=ends.get(EVENTS, (0, ""))[1],
        attempt=current.attempt,
        summary=runs_store.summaries([run.id]).get(run.id, {}),
    )


def wait_for_lines(asked_ns: int) -> None:
    """Returns once every line answered by then is written. Raises services.Refused (503)."""
    end = time.monotonic() + PATIENCE_S
    while settings.INGEST_ACK != "commit" and _oldest_ns() <= asked_ns:
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
    return processes.newest(run.id) is not None or runs_store.knows_slot(run.id, f"{SLOT}:")
