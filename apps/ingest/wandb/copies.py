"""`wandb sync`: whose lines a copy repeats, found out from its first lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from django.db import transaction
from msgspec.structs import replace as replace_fields

from apps.accounts.records import SYSTEM, Actor
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.ingest import services
from apps.ingest.digest import decode
from apps.ingest.envelope import Envelope
from apps.ingest.wandb import alerts, rewinds, store
from apps.ingest.wandb import process_store as processes
from apps.ingest.wandb.lines import StreamBatch
from apps.ingest.wandb.process_store import Copy
from apps.ingest.wandb.services import SLOT, Sender, sender_of, wait_for_lines
from apps.ingest.wandb.sessions import Trace, original_of, traces
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import LaunchSeen

PATIENCE_NS: Final = 30_000_000_000
"""How long a copy waits for what says whose lines it repeats: the client sends it within seconds
(`_wandb.value.e` of its second UpsertBucket)."""
UPLOAD_PATIENCE_NS: Final = 4 * PATIENCE_NS


def settled(envelope: Envelope, copy: Copy) -> Envelope:
    """The body of a copy, with the attempt it belongs to; alerts that waited for that are on their
    way."""
    bound = _settle(envelope, copy)
    if bound.attempt is not None:
        _send_held_alerts(envelope, bound)
    return replace_fields(envelope, attempt=bound.attempt)


def _send_held_alerts(envelope: Envelope, copy: Copy) -> None:
    """With each body until all are taken: the stream may refuse one. Known by time and words, none
    counts twice."""
    held = processes.held_alerts(envelope.run_id, copy.number)
    for body, at_ns in held:
        alert = replace_fields(
            envelope,
            batch_id=alerts.batch_of(envelope.run_key, body, at_ns),
            endpoint=alerts.ENDPOINT,
            encoding="identity",
            received_ns=at_ns,
            body=body,
            attempt=copy.attempt,
        )
        services.accept(alert, sender=SYSTEM, keep_bad=True)
    if held:
        processes.drop_alerts(envelope.run_id, copy.number)


def uploader(run_id: int, entity: str, writer: str) -> Sender:
    """Whose file or artifact it is.

    Raises services.Refused (503) while that is a copy that does not say yet what it repeats: for
    UPLOAD_PATIENCE_NS at most, since its lines may wait for its files.
    """
    sender = sender_of(run_id, entity, writer)
    copy = sender.copy
    if copy and copy.attempt is None and now_ns() - copy.begun_ns < UPLOAD_PATIENCE_NS:
        raise _not_yet()
    return sender


def _not_yet() -> services.Refused:
    return services.Refused(
        "the copy does not say yet whose lines it repeats",
        status=503,
        retry_after_s=1,
        hint="send it again",
    )


def hold_alert(run_id: int, sender: Sender, body: bytes) -> Sender | None:
    """Whose alert it is; None if that is not known yet and the alert is kept until it is."""
    if sender.copy is None or sender.attempt is not None:
        return sender
    with transaction.atomic():
        if processes.hold_alert(run_id, sender.copy.number, body, now_ns()):
            return None
    copy = processes.copy(run_id, sender.copy.number)
    return Sender(copy.attempt if copy else None, "", copy)


def _settle(envelope: Envelope, copy: Copy) -> Copy:
    """The copy with its attempt, which is found or opened if it is not known yet.

    Raises services.Refused (503) while that has to wait: for lines of the original that are not
    written yet, or for the copy to say more. A body that cannot be read settles nothing.
    """
    if copy.attempt is not None:
        return copy
    wait_for_lines(envelope.received_ns)
    try:
        batch: StreamBatch = decode(envelope)
    except AppError:
        return copy
    told = traces(batch.pieces, copy.first_lines)
    with transaction.atomic():
        runs_store.lock_run(envelope.run_id)
        bound = _bind(envelope, copy, told)
    if bound is None:
        raise _not_yet()
    return bound


def _bind(envelope: Envelope, copy: Copy, told: Mapping[str, Trace]) -> Copy | None:
    bound = _original(envelope.run_id, copy, told)
    if bound is None:
        known = processes.newest(envelope.run_id) is not None
        patient = envelope.received_ns - copy.begun_ns < PATIENCE_NS
        if not copy.writer_id and patient and (known or not told):
            return None
        bound = replace(copy, attempt=_open(envelope, copy, told), own=True)
    processes.bind_copy(envelope.run_id, bound)
    return bound


def _original(run_id: int, copy: Copy, told: Mapping[str, Trace]) -> Copy | None:
    """The copy with the attempt of the process whose lines it repeats, if that is known."""
    attempt = original_of(told, processes.known_traces(run_id))
    found = None if attempt is None else (attempt, "")
    if found is None and copy.writer_id:
        found = processes.attempt_of_writer(run_id, copy.writer_id)
    if found is None:
        return None
    own = processes.own_copy(run_id, found[0])
    return replace(copy, attempt=found[0], writer=found[1], own=own)


def _open(envelope: Envelope, copy: Copy, told: Mapping[str, Trace]) -> int:
    """An attempt for a process that only copies tell of. It began when its clock did."""
    run_id = envelope.run_id
    began = [trace.origin_ns for trace in told.values() if trace.origin_ns is not None]
    at_ns = min(began, default=envelope.received_ns)
    launch = LaunchSeen(SLOT, f"sync {copy.number}", at_ns)
    attempt = runs.register_launch(envelope.run_key, launch)
    processes.add_process(run_id, attempt, "", envelope.received_ns)
    processes.identify(run_id, attempt, "", processes.Identity(copy.writer_id))
    rewound = copy.rewound
    if rewound is not None and rewound.step is not None:
        rewinds.give_up(run_id, attempt, rewound, Actor("token", envelope.token, frozenset()))
        store.continue_lines(run_id, attempt, rewound.lines, rewinds.last_lines(rewound.step))
    elif copy.first_lines:
        store.continue_lines(run_id, attempt, copy.first_lines, {})
    return attempt
