"""Streams of lines with labels, as shippers push them, sorted into runs. Plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apps.core.errors import BadPayload
from apps.core.records import Severity
from apps.ingest import readings
from apps.ingest.entries import Collector, EntryBatch, Group, Place, place_of, with_rest
from apps.ingest.labels import Said, Table, worth_showing

MAX_BYTES: Final = 16 << 20
"""Of a body after inflating: shippers send a few MiB at most."""
MAX_STREAMS: Final = 10_000
MAX_RECORDS: Final = 200_000
MAX_RUNS: Final = 100
MAX_LABELS: Final = 100
MAX_NAME, MAX_VALUE = 1_024, 4_096
NO_RUN: Final = 'nothing says which run: add a label "run" or the header X-Lastgood-Run'


@dataclass(frozen=True, slots=True)
class Record:
    """One line. labels: its own, beside those of its stream. below: further lines of it."""

    time_ns: int | None
    text: str
    labels: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity | None = None
    below: str = ""


@dataclass(frozen=True, slots=True)
class Stream:
    """Lines with the labels they share."""

    labels: Mapping[str, Any]
    records: Sequence[Record]


@dataclass(slots=True)
class Pushed:
    """What a body holds. refused: reason -> lines that could not be read."""

    streams: list[Stream] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    records: int = 0

    def add(self, labels: Mapping[str, Any], records: Sequence[Record]) -> None:
        """A further stream; BadPayload beyond the bounds, before more of the body is read."""
        self.records += len(records)
        if len(self.streams) >= MAX_STREAMS:
            raise _too_many(MAX_STREAMS, "streams")
        if self.records > MAX_RECORDS:
            raise _too_many(MAX_RECORDS, "lines")
        wrong = wrong_labels(labels)
        if wrong:
            self.refused[wrong] += len(records)
        else:
            self.streams.append(Stream(labels, records))


def _too_many(most: int, what: str) -> BadPayload:
    return BadPayload(f"more than {most} {what}", where="body", hint="send smaller batches")


def wrong_labels(labels: Mapping[str, Any]) -> str:
    """Why these labels are not taken, "" if they are."""
    if len(labels) > MAX_LABELS:
        return f"a stream or line has more than {MAX_LABELS} labels"
    for name, value in labels.items():
        if len(name) > MAX_NAME or (isinstance(value, str) and len(value) > MAX_VALUE):
            return f"a label is longer than {MAX_NAME} characters, or its value than {MAX_VALUE}"
    return ""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the headers of a request say for all its lines. source: where no label names one."""

    run: str | None
    project: str
    source: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The labels of one stream as they came, and what became of them. run None: refused."""

    labels: Mapping[str, Any]
    run: str | None
    lines: int


@dataclass(frozen=True, slots=True)
class Sorted:
    """The lines by run. refused: reason -> lines, those that could not be read included."""

    batches: Mapping[str, EntryBatch]
    refused: Mapping[str, int]
    seen: Sequence[Seen]

    def accepted(self) -> int:
        """How many lines have a run."""
        return sum(batch.lines() for batch in self.batches.values())


def sort(pushed: Pushed, table: Table, defaults: Defaults) -> Sorted:
    """Each line to its run, as its labels, else those of its stream, else the headers say.

    A run named on purpose wins over the header, the header over what a scheduler calls the job.
    BadPayload for more than MAX_RUNS runs.
    """
    sorter = _Sorter(table, defaults)
    sorter.refused.update(pushed.refused)
    for stream in pushed.streams:
        sorter.take(stream)
    batches = {run: into.batch(defaults.project) for run, into in sorter.runs.items()}
    return Sorted(batches, {k: n for k, n in sorter.refused.items() if n}, sorter.seen)


class _Sorter:
    def __init__(self, table: Table, defaults: Defaults) -> None:
        self.table = table
        self.defaults = defaults
        self.runs: dict[str, Collector] = {}
        self.refused: Counter[str] = Counter()
        self.seen: list[Seen] = []

    def take(self, stream: Stream) -> None:
        """The lines of one stream."""
        said = self.table.understand(stream.labels)
        run = self.run_of(said.fields)
        group = self.group(run, said) if run else None
        for record in stream.records:
            if record.labels:
                self.take_labelled(record, said)
            elif group is None:
                self.refused[NO_RUN] += 1
            else:
                _add(group, record, said.fields, {})
        if run:
            self.runs[run].counts["labels_left_out"] += len(said.rest)
        self.seen.append(Seen(stream.labels, run, len(stream.records)))

    def take_labelled(self, record: Record, of_stream: Said) -> None:
        """A line with labels of its own, which win."""
        wrong = wrong_labels(record.labels)
        if wrong:
            self.refused[wrong] += 1
            return
        own = self.table.understand(record.labels)
        fields = {**of_stream.fields, **own.fields}
        run = self.run_of(fields)
        if run is None:
            self.refused[NO_RUN] += 1
            return
        rest = worth_showing(own)
        group = self.group(run, Said(fields, {}, of_stream.odd))
        self.runs[run].counts["labels_left_out"] += len(own.rest) - len(rest)
        self.runs[run].counts["odd_fields"] += len(own.odd)
        _add(group, record, fields, rest)

    def run_of(self, fields: Mapping[str, Any]) -> str | None:
        """The run that is said, the header's, or that of the scheduler."""
        found: str | None = fields.get("run") or self.defaults.run or fields.get("job_run")
        return found

    def group(self, run: str, said: Said) -> Group:
        """The columns for a place in a run."""
        into = self.runs.get(run)
        if into is None:
            if len(self.runs) >= MAX_RUNS:
                raise _too_many(MAX_RUNS, "runs")
            into = self.runs[run] = Collector()
        return into.group(place_of(said.fields, Place(source=self.defaults.source)))


def _add(group: Group, record: Record, fields: Mapping[str, Any], rest: Mapping[str, Any]) -> None:
    level = record.severity
    if level is None and "level" in fields:
        level = readings.severity(fields["level"])
    text = record.text
    if not text and "text" in fields:
        text = str(fields["text"])
    text = with_rest(text, rest)
    at_ns = record.time_ns
    if at_ns is None and "time" in fields:
        at_ns = readings.time_ns(fields["time"])
    group.time_ns.append(at_ns)
    group.severity.append(level)
    group.step.append(fields.get("step"))
    group.text.append(f"{text}\n{record.below}" if record.below else text)
