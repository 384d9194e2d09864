"""Segments of log files into the tables, in the caller's transaction.

Bodies that came together are written together: what they change costs its statements once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.core.errors import BadPayload
from apps.ingest import signalling
from apps.ingest.checkpoints.said import SpokenOf
from apps.ingest.envelope import Envelope
from apps.ingest.logs.parse import LogBatch, Segment, parse
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
MAX_JOINED_BYTES = 2 << 20
"""Of raw bodies that are written together: what is read of a byte takes many in memory."""
MAX_HELD_LINES = 100_000
"""Of bodies that are written together: then what they told is written, before the next is opened.
300 bytes each if all are errors, and a parcel of them has as many in 10 KB."""


@dataclass(frozen=True, slots=True)
class Received:
    """One body, not yet read: of those that are written together one at a time is in memory."""

    batch_id: str
    received_ns: int
    body: bytes


def as_received(envelope: Envelope, body: bytes) -> list[Received]:
    """A body, to be joined with others."""
    return [Received(envelope.batch_id, envelope.received_ns, body)]


def join(first: Sequence[Received], second: Sequence[Received]) -> list[Received] | None:
    """Raw bodies of one sender that are written together."""
    return joined(first, second, MAX_JOINED_BYTES)


def joined(
    first: Sequence[Received], second: Sequence[Received], most: int
) -> list[Received] | None:
    """Both, if they are not more than `most` bytes."""
    both = [*first, *second]
    return both if sum(len(one.body) for one in both) <= most else None


def write_logs(envelope: Envelope, bodies: Sequence[Received]) -> Written:
    """Segments of nodes' files: lines, per-rank values, placements."""
    taken = RunLogs(envelope.run_id)
    for body in bodies:
        _take(taken, body)
    return taken.written()


def _take(taken: RunLogs, body: Received) -> None:
    batch = parse(body.body)
    segments = [segment for segment, _ in batch.segments]
    attempt = taken.attempt_of(body, batch, segments)
    attempt.take(body, batch.node, attempt.read(batch))


class RunLogs:
    """Bodies of one run on their way into the tables. At most MAX_HELD_LINES, and one body more,
    are held."""

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id
        self._attempts: dict[int, AttemptLogs] = {}
        self._settled: dict[int | None, int] = {}
        self._touched: set[int] = set()
        self._counts: Counter[str] = Counter()

    def attempt_of(
        self, body: Received, batch: LogBatch | PackedBatch, segments: Sequence[Segment]
    ) -> AttemptLogs:
        """The attempt that segments of one node are of."""
        if sum(one.lines for one in self._attempts.values()) >= MAX_HELD_LINES:
            self._write()
        number = self._settled.get(batch.attempt)
        if number is None:
            seen = [segment.seen_ns for segment in segments]
            at_ns = min(seen, default=body.received_ns - batch.time_shift_ns)
            number = self._settle(batch.attempt, at_ns + batch.time_shift_ns)
        if number not in self._attempts:
            self._attempts[number] = AttemptLogs(self._run_id, number)
        return self._attempts[number]

    def _settle(self, said: int | None, at_ns: int) -> int:
        found = runs.settle_attempt(self._run_id, said, at_ns)
        if found.continued_by is None and said in (None, found.number):
            self._settled[said] = found.number  # whenever a batch of it begins
        return found.number

    def written(self) -> Written:
        """Writes all that was taken."""
        self._write()
        return Written(frozenset(self._touched), self._counts)

    def _write(self) -> None:
        for one in self._attempts.values():
            done = one.finish()
            self._counts.update(done.counts)
            self._touched |= done.attempts
        self._attempts.clear()


class AttemptLogs:
    """Segments of files of one attempt; each is read with what those before it left open.

    lines: of the segments that were taken.
    """

    def __init__(self, run_id: int, attempt: int) -> None:
        self._run_id, self._attempt = run_id, attempt
        self._lines = logs.LineWriter(run_id, attempt)
        self._patterns = signalling.rules_of_run(run_id).parsed
        self._spoken = SpokenOf()
        self._counts: Counter[str] = Counter()
        self._bodies = 0
        self.lines = 0

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
        body: Received,
        node: str | None,
        parsed: Sequence[ParsedSegment],
        packed: logs.PackedLines | None = None,
    ) -> None:
        """Segments that were read, here or by their agent: lines, per-rank values, placements."""
        self._bodies += 1
        parsed = signalling.with_signals(parsed, self._patterns)
        self._lines.take(node, parsed, batch_id=body.batch_id, packed=packed)
        note_ranks(self._run_id, self._attempt, node, parsed)
        self._spoken.hear(parsed)
        for part in parsed:
            self.lines += len(part.lines)
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
