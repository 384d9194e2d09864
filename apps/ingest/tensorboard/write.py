"""Events of TensorBoard files into the tables, in the caller's transaction."""

from __future__ import annotations

from apps.ingest.envelope import Envelope
from apps.ingest.rows import store
from apps.ingest.tensorboard.parse import EventBody, decode
from apps.ingest.writes import Written, add_rows
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import Progress


def write_events(envelope: Envelope, body: EventBody) -> Written:
    """Each record once, whatever the batching.

    A lower step opens no attempt: tags have axes of their own (an epoch beside a step), and a
    restarted writer begins a file, which is a start.
    """
    header, run_id = body.header, envelope.run_id
    fresh = store.take(run_id, header)
    found = decode(
        [body.records[number - header.first] for number in fresh.numbers],
        now_ns=envelope.received_ns,
        shift_ns=header.time_shift_ns,
        under=header.under,
    )
    written = add_rows(run_id, header.attempt, found.rows, source="tensorboard", restarts=False)
    attempts = written.attempts
    if not attempts:
        at_ns = found.first_ns or envelope.received_ns
        attempts = frozenset({runs.settle_attempt(run_id, header.attempt, at_ns).number})
    if found.config:
        progress = Progress(config=found.config)
        runs_store.note_progress(run_id, max(attempts), progress, None)
    skipped = {f"skipped: {kind}": times for kind, times in found.skipped.items()}
    return Written(attempts, {**written.counts, **fresh.counts(), **skipped})
