"""One function a protocol: a parsed batch into the tables, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from django.db import transaction

from apps.checkpoints.services import record as record_checkpoints
from apps.core.errors import AppError
from apps.core.grid import job_of, names_of, steps_of, times_of
from apps.core.records import CheckpointSeen, MetricRow
from apps.ingest.checkpoints.parse import CheckpointBatch
from apps.ingest.checkpoints.said import add_said, take
from apps.ingest.envelope import Envelope
from apps.ingest.metrics.parse import MetricBatch, check_names
from apps.ingest.nodes.parse import NodeBatch
from apps.ingest.wandb import extras_store
from apps.ingest.wandb.parse import ConsoleLine, SystemSample
from apps.logs import store as logs
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import TEE, ParsedSegment, SegmentMeta
from apps.logs.records import LinesWritten
from apps.metrics import store as metrics
from apps.metrics.domain import steps
from apps.metrics.store import write_rows
from apps.nodes import conditions_store
from apps.nodes import store as nodes
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import PlacementInfo, Progress


@dataclass(frozen=True, slots=True)
class Written:
    """attempts: those with new data. counts: for the run's counters."""

    attempts: frozenset[int]
    counts: Mapping[str, int] = field(default_factory=dict)


def add_rows(
    run_id: int,
    attempt: int | None,
    rows: Sequence[MetricRow],
    *,
    source: str,
    restarts: bool = True,
) -> Written:
    """Rows, cut at restarts, into their attempts.

    restarts=False: of one of several processes that count steps of their own, so that a lower
    step says nothing. Where somebody said which series is the step, rows stand at its values.
    """
    check_names(names_of(rows), "history")
    axis = metrics.naming_of_run(run_id).roles.get("step_axis") if rows else None
    rows = steps.by_series(rows, axis) if axis else rows
    place = runs.place_rows if restarts else _place_whole
    names = ("late_rows", "nonfinite_values", "duplicate_steps", "points")
    counts = Counter(dict.fromkeys(names, 0))
    attempts = set()
    for placed in place(run_id, attempt, rows) if rows else []:
        done = write_rows(run_id, placed.attempt, placed.rows, source=source)
        runs_store.note_progress(run_id, placed.attempt, _progress(placed.rows), None)
        counts["late_rows"] += placed.late
        counts["nonfinite_values"] += done.nonfinite
        counts["duplicate_steps"] += done.duplicate_steps
        counts["points"] += done.points
        counts.update(extras_store.add(run_id, placed.attempt, placed.rows))
        attempts.add(placed.attempt)
    return Written(frozenset(attempts), counts)


def _place_whole(
    run_id: int, attempt: int | None, rows: Sequence[MetricRow]
) -> list[runs.PlacedRows]:
    settled = runs.settle_attempt(run_id, attempt, rows[0].time_ns)
    return [runs.PlacedRows(settled.number, rows, 0)]


def _progress(rows: Sequence[MetricRow]) -> Progress:
    """How far the rows bring an attempt. Single ranks go at their own pace: they move no step."""
    job = job_of(rows)
    return Progress(
        first_step=min(steps_of(job), default=None),
        last_step=max(steps_of(job), default=None),
        last_ns=max(times_of(rows)),
        last_row_ns=max(times_of(job), default=None),
    )


def too_large(lost: Sequence[str]) -> dict[str, int]:
    """Counts of what `note_progress` did not keep."""
    return {f"skipped: {name} too large": 1 for name in lost}


def write_metrics(envelope: Envelope, batch: MetricBatch) -> Written:
    """Rows that came as JSON."""
    return add_rows(envelope.run_id, batch.attempt, batch.rows, source="http")


@dataclass(frozen=True, slots=True)
class Printed:
    """Console lines, and the file they make up. time_shift_ns: is in their times already."""

    source: str
    node: str | None
    lines: Sequence[ConsoleLine]
    time_shift_ns: int = 0


def add_console(envelope: Envelope, attempt: int, printed: Printed) -> int:
    """What the process printed, as lines of a file that grows by what each batch brings.

    They repeat the files of rank 0 where those are followed too, so they are marked as copies.
    Lines of one second make one segment. How many lines were stored.
    """
    run_id, shift_ns = envelope.run_id, printed.time_shift_ns
    offset = logs.end_offset(run_id, attempt, printed.node, printed.source) if printed.lines else 0
    parsed: list[ParsedSegment] = []
    for _, group in groupby(printed.lines, key=lambda line: line.time_ns // 1_000_000_000):
        lines = list(group)
        meta = SegmentMeta(
            source=printed.source,
            channel=TEE,
            local_rank=None,
            node=printed.node,
            offset=offset,
            seen_ns=lines[0].time_ns - shift_ns,
            time_shift_ns=shift_ns,
            carry=parsed[-1].carry if parsed else None,
        )
        data = "".join(f"{line.text}\n" for line in lines).encode("utf-8", "replace")
        parsed.append(parse_segment(meta, data))
        offset += len(data)
    if not parsed:
        return 0
    add_said(run_id, attempt, parsed)
    name = f"{envelope.batch_id}/console"
    return logs.write_lines(run_id, attempt, printed.node, parsed, batch_id=name).lines


def add_system(run_id: int, attempt: int, samples: Sequence[SystemSample]) -> int:
    """System metrics have a time but no step: they are put at the newest step of the attempt."""
    if not samples:
        return 0
    step = runs_store.last_step(run_id, attempt) or 0
    rows = [MetricRow(step, sample.time_ns, sample.values) for sample in samples]
    return write_rows(run_id, attempt, rows, source="system").points


def add_told(run_id: int, attempt: int, done: LinesWritten) -> Written:
    """The numbers that lines told, of ranks and of the job.

    A log is text first: numbers that cannot be stored are counted, and the lines stay.
    """
    rows = done.rank_rows
    if not rows and not done.job_rows:
        return Written(frozenset(), {"points": 0})
    try:
        with transaction.atomic():
            points = write_rows(run_id, attempt, rows, source="logs").points if rows else 0
            # Times of lines are too coarse to tell a restart from a slow reader.
            job = add_rows(run_id, attempt, done.job_rows, source="logs", restarts=False)
    except AppError:
        return Written(frozenset(), {"told_rows_refused": len(rows) + len(done.job_rows)})
    # Several formats tell a step each in a row of its own: that repeats nothing.
    counts = {name: n for name, n in job.counts.items() if name != "duplicate_steps"}
    return Written(job.attempts, {**counts, "points": points + counts["points"]})


def note_ranks(
    run_id: int, attempt: int, node: str | None, parsed: Sequence[ParsedSegment]
) -> None:
    """Where ranks said they run, and how many there are."""
    said = [placement for part in parsed for placement in part.placements]
    places = [
        PlacementInfo(p.rank, p.node or node or "", p.local_rank, p.device)
        for p in said
        if p.node or node
    ]
    nodes.ensure([place.node for place in places])
    runs_store.record_placements(run_id, attempt, places)
    size = max((p.world_size or 0 for p in said), default=0)
    if size:
        runs_store.note_progress(run_id, attempt, Progress(world_size=size), None)


def write_checkpoints(envelope: Envelope, batch: CheckpointBatch) -> Written:
    """Announced checkpoints, and what became of them."""
    began_ns = min(batch.times_ns, default=envelope.received_ns)
    attempt = runs.settle_attempt(envelope.run_id, batch.attempt, began_ns).number
    counts = Counter({"checkpoints": 0})
    for event in batch.events:
        if isinstance(event, CheckpointSeen):
            record_checkpoints(envelope.run_id, attempt, [event])
            counts["checkpoints"] += 1
        else:
            counts += take(envelope.run_id, attempt, [event], source="http")
    last = max(batch.times_ns, default=None)
    runs_store.note_progress(envelope.run_id, attempt, Progress(last_ns=last), None)
    return Written(frozenset({attempt}), counts)


def write_nodes(envelope: Envelope, batch: NodeBatch) -> Written:
    """What happened to nodes."""
    nodes.record(batch.events)
    changed, late = conditions_store.look(batch.looks)
    counts = {"node_events": len(batch.events) + changed, **batch.left_out}
    return Written(frozenset(), counts | ({"readings_late": late} if late else {}))
