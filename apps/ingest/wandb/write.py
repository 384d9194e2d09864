"""Lines of the `wandb` client into the tables, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from django.utils import timezone

from apps.ingest.envelope import Envelope
from apps.ingest.wandb import store
from apps.ingest.wandb.lines import (
    EVENTS,
    HISTORY,
    NUMBERED,
    OUTPUT,
    SUMMARY,
    StreamBatch,
    console_lines,
    history_rows,
    summary_of,
    system_samples,
)
from apps.ingest.wandb.values import Numbers
from apps.ingest.writes import Printed, Written, add_console, add_rows, add_system, too_large
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import Progress


def write_stream(envelope: Envelope, batch: StreamBatch) -> Written:
    """Each numbered line once, whatever the batching; the summary as it came last."""
    run_id, now_ns, numbers = envelope.run_id, envelope.received_ns, Numbers()
    settled = runs.settle_attempt(run_id, envelope.attempt, now_ns).number
    sender = settled if envelope.attempt is None else envelope.attempt
    counts, fresh = _take(store.Writer(run_id, sender, envelope.writer), batch)
    rows = history_rows(fresh.get(HISTORY, ()), now_ns, numbers)
    written = add_rows(run_id, sender, rows, source="wandb", restarts=not envelope.writer)
    attempt = max(written.attempts, default=settled)
    samples = system_samples(fresh.get(EVENTS, ()), now_ns, numbers)
    printed = console_lines(fresh.get(OUTPUT, ()), now_ns)
    source = f"wandb/{envelope.writer or envelope.run_key}"
    counts.update(written.counts)
    counts["points"] += add_system(run_id, attempt, samples)
    counts["lines"] += add_console(envelope, attempt, Printed(source, None, printed))
    counts.update({f"skipped: {kind}": times for kind, times in numbers.skipped.items()})
    summary = next((piece.lines for piece in batch.pieces if piece.file == SUMMARY), ())
    progress = Progress(exit_code=batch.exit_code, summary=summary_of(summary))
    counts.update(too_large(runs_store.note_progress(run_id, attempt, progress, timezone.now())))
    return Written(written.attempts | {attempt}, counts)


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
            counts["gaps"] += found.gaps
            counts["missing_lines"] += found.missing
        elif piece.file != SUMMARY:
            counts["skipped: unknown file"] += len(piece.lines)
    return counts, fresh
