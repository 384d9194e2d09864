"""Rows of JSON-lines and CSV files into the tables, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import groupby

from apps.core.records import MetricRow
from apps.ingest.envelope import Envelope
from apps.ingest.rows import store
from apps.ingest.rows.parse import ReadRow, RowsBody, RowsHeader, content, decode
from apps.ingest.wandb.values import Numbers
from apps.ingest.writes import Written, add_rows
from apps.runs import services as runs
from apps.runs import store as runs_store


def write_rows(envelope: Envelope, body: RowsBody) -> Written:
    """Each row once, whatever the batching, in the attempt that ran at its time."""
    header, run_id, numbers = body.header, envelope.run_id, Numbers()
    fresh = store.take(run_id, header, partial(content, body))
    found = decode(body, fresh.numbers, numbers)
    counts = Counter(fresh.counts())
    counts["rows_without_time"] += sum(not read.timed for read in found)
    counts.update({f"skipped: {kind}": times for kind, times in numbers.skipped.items()})
    attempts = set[int]()
    for attempt, rows in _by_attempt(run_id, header, found):
        written = _add(run_id, attempt, rows, header.format)
        attempts |= written.attempts
        counts.update(written.counts)
    if not attempts:
        at_ns = header.seen_ns + header.time_shift_ns
        attempts.add(runs.settle_attempt(run_id, header.attempt, at_ns).number)
    return Written(frozenset(attempts), counts)


def _by_attempt(
    run_id: int, header: RowsHeader, found: Sequence[ReadRow]
) -> list[tuple[int | None, list[ReadRow]]]:
    """Neighbouring rows of one attempt.

    A file that is appended to goes on through restarts. Where a row's time is known, it belongs to
    the newest attempt that had begun by then, at least to the one the sender named.
    """
    known = [info for info in runs_store.attempts(run_id) if info.number >= (header.attempt or 0)]

    def attempt_of(read: ReadRow) -> int | None:
        if not (read.timed or header.live):
            return header.attempt
        begun = [info.number for info in known if info.started_ns <= read.row.time_ns]
        return max(begun, default=header.attempt)

    return [(attempt, list(group)) for attempt, group in groupby(found, key=attempt_of)]


def _add(run_id: int, attempt: int | None, found: Sequence[ReadRow], source: str) -> Written:
    """Training rows cut at restarts; evaluations lag behind and say nothing of restarts."""
    training = [read.row for read in found if not read.evaluation]
    written = add_rows(run_id, attempt, training, source=source)
    lagging: Sequence[MetricRow] = [read.row for read in found if read.evaluation]
    also = add_rows(run_id, attempt, lagging, source=source, restarts=False)
    counts = Counter(written.counts)
    counts.update(also.counts)
    return Written(written.attempts | also.attempts, counts)
