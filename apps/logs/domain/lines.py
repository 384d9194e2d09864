"""One segment of one log file, from bytes to log lines, per-rank metrics and placement facts.

Plain Python: the node agent and the writer use the same parser. Nothing here raises on content;
what cannot be read is replaced and counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from apps.core.records import MetricRow, Severity
from apps.logs.domain.classify import severity_without_level
from apps.logs.domain.facts import Placement, placement, rank_metrics, step_of
from apps.logs.domain.headers import Clock, Headers, read_headers
from apps.logs.domain.joblines import JobRow, formats_in, job_rows
from apps.logs.domain.table import LineTable

MAX_LINE_BYTES = 64 * 1024
CONSOLE = "console"
TEE = "tee"
_NS_10_MIN = 600 * 1_000_000_000
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_REPLACED = "\ufffd"
_SUMMARY = re.compile(
    r"  (?:time|host|rank|exitcode|error_file|traceback) *: |\[\d+\]:$|Failures:$"
    r"|Root Cause \(first"
)
_ERROR_STARTS = (
    '  File "',
    "During handling of the above exception",
    "The above exception was the direct cause",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentMeta:
    """Where a piece of a file comes from.

    source: stable id of the file. channel: stderr, stdout or console (what torchrun printed for
    all ranks of the node). local_rank: of the file, None for a console. offset: of the first byte,
    inside `generation` (counts up when the file is rotated or truncated). seen_ns: agent's clock
    when it read the bytes. previous_ns: time of the last line stored of this file, if known.
    time_shift_ns: added to every time (a replay moves its data to now); previous_ns has it already.
    partial: the last line is not whole: it is text, and tells no numbers. rank: of all its lines,
    where the sender says it.
    """

    source: str
    channel: str
    local_rank: int | None
    node: str | None
    offset: int
    seen_ns: int
    generation: int = 0
    previous_ns: int | None = None
    time_shift_ns: int = 0
    partial: bool = False
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class ParsePolicy:
    """Switches of the parser.

    zone_offset_s: seconds east of UTC of stamps without a zone. console_metrics: also take
    per-rank metrics from console lines (off: they repeat the rank files).
    """

    zone_offset_s: int = 0
    console_metrics: bool = False


@dataclass(frozen=True, slots=True)
class ParsedSegment:
    """What one segment says. end: offset after its last byte.

    lines: in file order. truncated_lines: longer than 64 KiB, cut, original length noted in the
    text. invalid_utf8_bytes: replaced by U+FFFD. metrics: what lines tell of one rank;
    metric_lines: their lines. job: what lines tell of the whole job; the files of several ranks may
    tell the same. unplaced_job_lines: told numbers of the job but no step.
    """

    meta: SegmentMeta
    end: int
    lines: LineTable
    metrics: Sequence[MetricRow]
    placements: Sequence[Placement]
    invalid_utf8_bytes: int
    truncated_lines: int
    metric_lines: Sequence[int] = ()
    job: Sequence[JobRow] = ()
    unplaced_job_lines: int = 0


def parse_segment(
    meta: SegmentMeta, data: bytes, policy: ParsePolicy | None = None
) -> ParsedSegment:
    """Lines, metrics and placement facts of one segment.

    A line without its own time takes that of the line before it in the segment. At the start of
    a segment it takes meta.seen_ns, or meta.previous_ns if the agent's clock is more than ten
    minutes away from it (a file read long after it was written). Of a progress bar (carriage
    returns) only the last frame is kept. Terminal colours are removed.

    Cost: about 5 microseconds a line.
    """
    return _Parser(meta, policy or ParsePolicy()).run(data)


class _Parser:
    """State of one segment: ranks seen, open tracebacks, what was found."""

    def __init__(self, meta: SegmentMeta, policy: ParsePolicy) -> None:
        self.meta = meta
        self.policy = policy
        self.tee = meta.channel == CONSOLE
        self.ranked_metrics = not self.tee or policy.console_metrics
        self.in_traceback: set[int | None] = set()
        self.metrics: list[MetricRow] = []
        self.metric_lines: list[int] = []
        self.placements: list[Placement] = []
        self.invalid_bytes = 0
        self.truncated = 0

    def run(self, data: bytes) -> ParsedSegment:
        """Parse all lines of `data`."""
        raws = data.split(b"\n")
        if not raws[-1]:
            raws.pop()
        texts = self.texts(data, raws)
        clock = Clock(self.meta.seen_ns, self.policy.zone_offset_s)
        heads = read_headers(texts, clock, tee=self.tee)
        table = self.table(texts, raws, heads)
        whole = heads.body[:-1] if self.meta.partial else heads.body
        self.facts(whole, table)
        formats = formats_in(data)
        job, unplaced = job_rows(whole, table.time_ns, formats) if formats else ([], 0)
        return ParsedSegment(
            meta=self.meta,
            end=self.meta.offset + len(data),
            lines=table,
            metrics=self.metrics,
            placements=self.placements,
            invalid_utf8_bytes=self.invalid_bytes,
            truncated_lines=self.truncated,
            metric_lines=self.metric_lines,
            job=job,
            unplaced_job_lines=unplaced,
        )

    def texts(self, data: bytes, raws: list[bytes]) -> list[str]:
        """Decoded lines; the usual segment (clean UTF-8, no control bytes) in one step."""
        odd = b"\r" in data or b"\x1b" in data or b"\0" in data
        if not odd and max(map(len, raws), default=0) <= MAX_LINE_BYTES:
            whole = _strict(data)
            if whole is not None:
                return whole.split("\n")[: len(raws)]
        return [self.decode(raw) for raw in raws]

    def decode(self, raw: bytes) -> str:
        """Text of one raw line: last frame, no colours, no NUL, at most 64 KiB."""
        if b"\r" in raw:
            frames = [f for f in raw.split(b"\r") if f]
            raw = frames[-1] if frames else b""
        if b"\x1b" in raw:
            raw = _ANSI.sub(b"", raw)
        if len(raw) > MAX_LINE_BYTES:
            self.truncated += 1
            cut = raw[:MAX_LINE_BYTES].decode("utf-8", "ignore")
            return f"{cut} ... [cut, line has {len(raw)} bytes]".replace("\0", "\u2400")
        text = _strict(raw)
        if text is None:
            text = raw.decode("utf-8", "replace")
            kept = len(text.replace(_REPLACED, "").encode()) + 3 * raw.count(_REPLACED.encode())
            self.invalid_bytes += len(raw) - kept
        return text.replace("\0", "\u2400")

    def table(self, texts: list[str], raws: list[bytes], heads: Headers) -> LineTable:
        """The lines as columns."""
        meta = self.meta
        local = heads.local_rank
        channel = [meta.channel] * len(texts)
        if self.tee:
            channel = [TEE if rank is not None else CONSOLE for rank in local]
        elif meta.local_rank is not None:
            local = [meta.local_rank if rank is None else rank for rank in local]
        severity = self.severities(heads, local)
        return LineTable(
            meta.source,
            time_ns=_filled(heads.time_ns, meta),
            seq=list(accumulate((len(raw) + 1 for raw in raws), initial=meta.offset))[:-1],
            channel=channel,
            local_rank=local,
            rank=_ranks(heads.rank, local, self.tee, meta.rank),
            severity=severity,
            step=[
                step_of(body) if level < Severity.ERROR else None
                for body, level in zip(heads.body, severity, strict=True)
            ],
            text=texts,
            message_at=[
                len(text) - len(body) for text, body in zip(texts, heads.body, strict=True)
            ],
        )

    def severities(self, heads: Headers, local: list[int | None]) -> list[int]:
        """Severity of each line: its level, else what its text says."""
        found: list[int] = []
        for level, body, rank in zip(heads.level, heads.body, local, strict=True):
            if level is None:
                found.append(self.severity(body, rank))
            else:
                self.in_traceback.discard(rank)
                found.append(level)
        return found

    def severity(self, body: str, local: int | None) -> int:
        """Severity of a line without a level. A traceback is an error until its last line."""
        if local in self.in_traceback:
            if body and body[0] not in " \t^" and not body.startswith("Traceback"):
                self.in_traceback.discard(local)
            return Severity.ERROR
        if body.startswith("Traceback (most recent call last)"):
            self.in_traceback.add(local)
            return Severity.ERROR
        if body.startswith(_ERROR_STARTS):
            return Severity.ERROR
        if self.tee and local is None and _SUMMARY.match(body):
            return Severity.ERROR
        return severity_without_level(body)

    def facts(self, bodies: list[str], table: LineTable) -> None:
        """Metrics and placements of the lines that may carry them."""
        for number, body in enumerate(bodies):
            step, rank = table.step[number], table.rank[number]
            if step is not None:
                self.numbers(body, table.time_ns[number], step, rank)
                self.metric_lines += [number] * (len(self.metrics) - len(self.metric_lines))
            elif "pid=" in body and "world" in body and rank is not None:
                fact = placement(body, table.line(number), self.meta.node)
                if fact is not None:
                    self.placements.append(fact)

    def numbers(self, body: str, time_ns: int, step: int, rank: int | None) -> None:
        """Metrics of one step line."""
        if rank is not None and self.ranked_metrics and (values := rank_metrics(body)):
            self.metrics.append(MetricRow(step, time_ns, values, rank))


def _filled(own_ns: list[int | None], meta: SegmentMeta) -> list[int]:
    """Shifted times, with the gaps filled from the line before."""
    times = []
    shift = meta.time_shift_ns
    now = _start_time(meta)
    for own in own_ns:
        if own is not None:
            now = own + shift
        times.append(now)
    return times


def _ranks(
    named: list[int | None], local: list[int | None], tee: bool, said: int | None
) -> list[int | None]:
    """Global rank of each line: named by itself, else said of all, else the first one its process
    named."""
    if said is not None:
        return [said if rank is None else rank for rank in named]
    first: dict[int | None, int] = {}
    for rank, process in zip(named, local, strict=True):
        if rank is not None and process not in first:
            first[process] = rank
    if tee:
        first.pop(None, None)
    if not first:
        return named
    return [
        first.get(process) if rank is None else rank
        for rank, process in zip(named, local, strict=True)
    ]


def _start_time(meta: SegmentMeta) -> int:
    seen = meta.seen_ns + meta.time_shift_ns
    previous = meta.previous_ns
    return seen if previous is None or abs(seen - previous) <= _NS_10_MIN else previous


def _strict(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
