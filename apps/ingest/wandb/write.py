"""Lines of the `wandb` client into the tables, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from apps.core.errors import BadPayload
from apps.ingest.envelope import Envelope
from apps.ingest.wandb import health, store
from apps.ingest.wandb import process_store as processes
from apps.ingest.wandb.endings import Settled, note_progress
from apps.ingest.wandb.lines import (
    EVENTS,
    HISTORY,
    NUMBERED,
    OUTPUT,
    SUMMARY,
    StreamBatch,
    console_lines,
    history_rows,
    system_samples,
)
from apps.ingest.wandb.process_store import Copy
from apps.ingest.wandb.sessions import copy_number
from apps.ingest.wandb.values import Numbers
from apps.ingest.writes import Printed, Written, add_console, add_rows, add_system, too_large
from apps.nodes import conditions_store as conditions
from apps.runs import services as runs


def write_stream(envelope: Envelope, batch: StreamBatch) -> Written:
    """Each numbered line once, whatever the batching; the summary as it came last."""
    run_id, now_ns, numbers = envelope.run_id, envelope.received_ns, Numbers()
    copy = _copy(envelope)
    settled = runs.settle_attempt(run_id, envelope.attempt, now_ns).number
    sender = settled if envelope.attempt is None else envelope.attempt
    writer = store.Writer(run_id, sender, copy.writer if copy else envelope.writer)
    counts, fresh = _take(writer, _renumbered(writer, copy, batch) if copy else batch)
    rows = history_rows(fresh.get(HISTORY, ()), now_ns, numbers)
    written = add_rows(run_id, sender, rows, source="wandb", restarts=not writer.name)
    attempt = max(written.attempts, default=settled)
    samples = system_samples(fresh.get(EVENTS, ()), now_ns, numbers)
    printed = console_lines(fresh.get(OUTPUT, ()), now_ns)
    source = f"wandb/{writer.name or envelope.run_key}"
    counts.update(written.counts)
    counts["points"] += add_system(run_id, attempt, samples)
    if samples and copy is None:
        node = processes.node_of(run_id, attempt, writer.name)
        counts["node_events"] += conditions.look(tuple(health.looks(node, samples)))[0]
    counts["lines"] += add_console(envelope, attempt, Printed(source, None, printed))
    counts.update({f"skipped: {kind}": times for kind, times in numbers.skipped.items()})
    counts.update(too_large(note_progress(writer, copy, batch, Settled(attempt, now_ns))))
    return Written(written.attempts | {attempt}, counts)


def _copy(envelope: Envelope) -> Copy | None:
    """The synced copy that the body is of; None if it is of a process itself."""
    number = copy_number(envelope.writer)
    return None if number is None else processes.copy(envelope.run_id, number)


def _renumbered(writer: store.Writer, copy: Copy, batch: StreamBatch) -> StreamBatch:
    """The lines of a copy under the numbers that the process it repeats gave them.

    A copy of one that resumed counts from where the run ended when it was synced. BadPayload if
    it counts from before its own beginning.
    """
    own = store.first_lines(writer)
    pieces = []
    for piece in batch.pieces:
        offset = piece.offset
        if piece.file in NUMBERED:
            offset += own.get(piece.file, 0) - copy.first_lines.get(piece.file, 0)
        if offset < 0:
            raise BadPayload("is before its first line", where=f"files.{piece.file}.offset")
        pieces.append(replace(piece, offset=offset))
    return replace(batch, pieces=tuple(pieces))


def _take(
    writer: store.Writer, batch: StreamBatch
) -> tuple[Counter[str], Mapping[str, Sequence[str]]]:
    """What to count, and file -> lines that are new."""
    counts, fresh = Counter[str](), dict[str, Sequence[str]]()
    counts["preemption_notices"] += batch.preempting
    for piece in batch.pieces:
        if piece.file in NUMBERED:
            found = store.take(writer, piece)
            fresh[piece.file] = found.lines
            counts["repeated_lines"] += found.repeated
            counts["rewritten_lines"] += found.rewritten
            counts["gaps"] += found.gaps
            counts["missing_lines"] += found.missing
        elif piece.file != SUMMARY:
            counts["skipped: unknown file"] += len(piece.lines)
    return counts, fresh
