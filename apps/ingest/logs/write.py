"""Segments of log files into the tables, in the caller's transaction.

Bodies that came together are written together: what they change costs its statements once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from apps.core.errors import BadPayload
from apps.ingest import signalling
from apps.ingest.checkpoints.said import SpokenOf
from apps.ingest.envelope import Envelope
from apps.ingest.logs.parse import LogBatch, Segment
from apps.ingest.packed.parse import PackedBatch
from apps.ingest.writes import Written, add_told, note_ranks
from apps.logs import store as logs
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import ParsedSegment
from apps.nodes import store as nodes
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import Progress

MAX_FILES = 200_000
"""Log files of one run: 16,384 ranks with two files in six attempts."""
MAX_JOINED_BYTES = 16 << 20
"""Of raw bodies that are written together. They are held in memory; read they are one by one."""

Batch = TypeVar("Batch", LogBatch, PackedBatch)


@dataclass(frozen=True, slots=True)
class Received(Generic[Batch]):
    """One body as it came. raw_bytes: of the files."""

    batch_id: str
    received_ns: int
    batch: Batch
    raw_bytes: int


def received(envelope: Envelope, batch: Batch, sizes: Sequence[Segment]) -> list[Received[Batch]]:
    """A body, to be joined with others. sizes: its segments."""
    size = sum(segment.bytes for segment in sizes)
    return [Received(envelope.batch_id, envelope.received_ns, batch, size)]


def joined(
    first: Sequence[Received[Batch]], second: Sequence[Received[Batch]], most: int
) -> list[Received[Batch]] | None:
    """Both, if they are not more than `most` bytes of files."""
    both = list(first) + list(second)
    return both if sum(one.raw_bytes for one in both) <= most else None


def as_received(envelope: Envelope, batch: LogBatch) -> list[Received[LogBatch]]:
    """A raw body, to be joined with others."""
    return received(envelope, batch, [segment for segment, _ in batch.segments])


def join(
    first: Sequence[Received[LogBatch]], second: Sequence[Received[LogBatch]]
) -> list[Received[LogBatch]] | None:
    """Raw bodies of one sender that are written together."""
    return joined(first, second, MAX_JOINED_BYTES)


def write_logs(envelope: Envelope, bodies: Sequence[Received[LogBatch]]) -> Written:
    """Segments of nodes' files: lines, per-rank values, placements."""
    taken = RunLogs(envelope.run_id)
    for body in bodies:
        segments = [segment for segment, _ in body.batch.segments]
        attempt = taken.attempt_of(body, segments)
        attempt.take(body, attempt.read(body.batch))
    return taken.written()


class RunLogs:
    """Bodies of one run on their way into the tables."""

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id
        self._attempts: dict[int, AttemptLogs] = {}
        self._settled: dict[int | None, int] = {}

    def attempt_of(
        self, body: Received[LogBatch] | Received[PackedBatch], segments: Sequence[Segment]
    ) -> AttemptLogs:
        """The attempt that segments of one node are of."""
        said = body.batch.attempt
        number = self._settled.get(said)
        if number is None:
            number = self._settle(body, segments)
        if number not in self._attempts:
            self._attempts[number] = AttemptLogs(self._run_id, number)
        return self._attempts[number]

    def _settle(
        self, body: Received[LogBatch] | Received[PackedBatch], segments: Sequence[Segment]
    ) -> int:
        batch, seen = body.batch, [segment.seen_ns for segment in segments]
        at_ns = min(seen, default=body.received_ns - batch.time_shift_ns) + batch.time_shift_ns
        found = runs.settle_attempt(self._run_id, batch.attempt, at_ns)
        if found.continued_by is None and batch.attempt in (None, found.number):
            self._settled[batch.attempt] = found.number  # whenever a batch of it begins
        return found.number

    def written(self) -> Written:
        """Writes all that was taken."""
        counts: Counter[str] = Counter()
        attempts: set[int] = set()
        for one in self._attempts.values():
            done = one.finish()
            counts.update(done.counts)
            attempts |= done.attempts
        return Written(frozenset(attempts), counts)


class AttemptLogs:
    """Segments of files of one attempt; each is read with what those before it left open."""

    def __init__(self, run_id: int, attempt: int) -> None:
        self._run_id, self._attempt = run_id, attempt
        self._lines = logs.LineWriter(run_id, attempt)
        self._patterns = signalling.rules_of_run(run_id).parsed
        self._spoken = SpokenOf()
        self._counts: Counter[str] = Counter()
        self._bodies = 0

    def contexts(
        self, node: str | None, segments: Sequence[Segment]
    ) -> Mapping[logs.FileKey, logs.FileContext]:
        """What is known of the files of these segments; their node is known from then on.
        BadPayload for a new one too many."""
        known = self._lines.contexts(node, [segment.source for segment in segments])
        new = {(s.source, s.generation) for s in segments} - known.keys()
        _check_files(self._run_id, new)
        if new and node:
            nodes.ensure([node])
        return known

    def read(self, batch: LogBatch) -> list[ParsedSegment]:
        """The segments of a raw body."""
        known = self.contexts(batch.node, [segment for segment, _ in batch.segments])
        carries = {key: context.carry for key, context in known.items()}
        parsed = []
        for segment, data in batch.segments:
            key = (segment.source, segment.generation)
            before_ns = known[key].last_ns if key in known else None
            meta = segment.meta(batch.node, batch.time_shift_ns, carries.get(key), before_ns)
            parsed.append(parse_segment(meta, data, segment.policy()))
            carries[key] = parsed[-1].carry
        return parsed

    def take(
        self,
        body: Received[LogBatch] | Received[PackedBatch],
        parsed: Sequence[ParsedSegment],
        packed: logs.PackedLines | None = None,
    ) -> None:
        """Segments that were read, here or by their agent: lines, per-rank values, placements."""
        node = body.batch.node
        self._bodies += 1
        parsed = signalling.with_signals(parsed, self._patterns)
        self._lines.take(node, parsed, batch_id=body.batch_id, packed=packed)
        note_ranks(self._run_id, self._attempt, node, parsed)
        self._spoken.hear(parsed)
        for part in parsed:
            self._counts["job_lines_without_step"] += part.unplaced_job_lines
            self._counts["invalid_utf8_bytes"] += part.invalid_utf8_bytes
            self._counts["long_lines"] += part.long_lines
            self._counts["partial_lines"] += part.meta.partial

    def count(self, name: str) -> None:
        """One more of what happened to a body."""
        self._counts[name] += 1

    def finish(self) -> Written:
        """Writes all that was taken. BadPayload if bodies have to be written one by one."""
        done = self._lines.finish()
        told = add_told(self._run_id, self._attempt, done)
        if self._bodies > 1 and "told_rows_refused" in told.counts:
            raise BadPayload("numbers of one of several bodies cannot be stored")  # which one?
        spoken = self._spoken.add(self._run_id, self._attempt)
        runs_store.note_progress(self._run_id, self._attempt, Progress(last_ns=done.last_ns), None)
        counts = {
            **self._counts,
            **told.counts,
            **spoken,
            "lines": done.lines,
            "late_lines": done.late_lines,
            "repeated_lines": done.skipped_lines,
            "gaps": done.gaps,
            "job_lines": len(done.job_rows),
            "job_lines_copied": done.job_copies,
        }
        return Written(told.attempts | {self._attempt}, counts)


def _check_files(run_id: int, new: set[tuple[str, int]]) -> None:
    """BadPayload for a file more than a run may have: the body goes to quarantine."""
    if new and logs.source_count(run_id) >= MAX_FILES:
        raise BadPayload(
            f"the run has {MAX_FILES} log files",
            where=f"segments: {min(new)[0][:200]}",
            hint="follow fewer files, or give other jobs runs of their own",
        )
