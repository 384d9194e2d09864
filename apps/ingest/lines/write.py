"""Lines by their place into the tables, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from apps.core.errors import AppError
from apps.ingest import signalling
from apps.ingest.checkpoints.said import add_said
from apps.ingest.entries import EntryBatch, Group, Place, source_name
from apps.ingest.envelope import Envelope
from apps.ingest.lines.columns import ColumnBatch, ColumnGroup
from apps.ingest.writes import Written, add_told, note_ranks
from apps.logs import store as logs
from apps.logs.domain.reading.entries import Entries, parse_entries
from apps.logs.domain.reading.entrycolumns import Source, columns_of, parse_sources
from apps.logs.domain.reading.facts import Placement
from apps.logs.domain.reading.lines import ParsedSegment, SegmentMeta
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import LaunchSeen, Progress

Lines = Group | ColumnGroup
SLOT = "labels"
"""The slot of starts that only the labels of lines tell of."""
DAY_NS = 86_400 * 1_000_000_000
MAX_SOURCES = 200_000
OTHERS = "(further sources)"


def write_entries(envelope: Envelope, batch: EntryBatch | ColumnBatch) -> Written:
    """Every line into its attempt and the file of its process; counted what was odd."""
    counts = Counter({"lines": 0, **batch.counts})
    attempts: set[int] = set()
    if batch.project:
        said = Progress(project=batch.project)
        runs_store.note_progress(envelope.run_id, 0, said, None)
    for number, groups in _by_attempt(envelope, batch, counts).items():
        for node, of_node in _by_node(groups).items():
            attempts |= _write_node(envelope, number, node, of_node, counts)
        attempts.add(number)
    return Written(frozenset(attempts), counts)


def _by_attempt(
    envelope: Envelope, batch: EntryBatch | ColumnBatch, counts: Counter[str]
) -> dict[int, list[Lines]]:
    starts: dict[tuple[int | None, str], list[Lines]] = {}
    for group in batch.groups:
        starts.setdefault((group.place.attempt, group.place.launch), []).append(group)
    found: dict[int, list[Lines]] = {}
    for (attempt, launch), groups in starts.items():
        number = _settled(envelope, attempt, launch, groups, counts)
        found.setdefault(number, []).extend(groups)
    return found


def _settled(
    envelope: Envelope,
    attempt: int | None,
    launch: str,
    groups: Sequence[Lines],
    counts: Counter[str],
) -> int:
    """The attempt of lines. One that nobody announced is the newest, and counted: lines are not
    refused for it."""
    told = [at for group in groups if (at := group.first_ns()) is not None]
    at_ns = min(told, default=envelope.received_ns)
    if attempt is None and launch:
        began_ns = at_ns if abs(at_ns - envelope.received_ns) < DAY_NS else envelope.received_ns
        seen = LaunchSeen(SLOT, launch, began_ns, None)
        attempt = runs.register_launch(envelope.run_key, seen)
    try:
        return runs.settle_attempt(envelope.run_id, attempt, at_ns).number
    except AppError:
        counts["lines_of_unknown_attempt"] += sum(map(len, groups))
        return runs.settle_attempt(envelope.run_id, None, at_ns).number


def _by_node(groups: Sequence[Lines]) -> dict[str, list[Lines]]:
    nodes: dict[str, list[Lines]] = {}
    for group in groups:
        nodes.setdefault(group.place.node, []).append(group)
    return nodes


def _write_node(
    envelope: Envelope, attempt: int, node: str, groups: Sequence[Lines], counts: Counter[str]
) -> frozenset[int]:
    run_id, place = envelope.run_id, node or None
    parsed = _parsed(envelope, attempt, node, groups, counts)
    placed = [_placed(segment, group.place) for segment, group in zip(parsed, groups, strict=True)]
    placed = signalling.with_signals(placed, signalling.rules_of_run(run_id).parsed)
    done = logs.write_lines(run_id, attempt, place, placed, batch_id=envelope.batch_id)
    told = add_told(run_id, attempt, done)
    note_ranks(run_id, attempt, place, placed)
    counts.update(add_said(run_id, attempt, placed))
    runs_store.note_progress(run_id, attempt, Progress(last_ns=done.last_ns), None)
    counts.update(told.counts)
    counts.update(
        {
            "lines": done.lines,
            "late_lines": done.late_lines,
            "job_lines": len(done.job_rows),
            "job_lines_copied": done.job_copies,
            "job_lines_without_step": sum(part.unplaced_job_lines for part in parsed),
            "long_lines": sum(part.long_lines for part in parsed),
        }
    )
    return told.attempts


def _parsed(
    envelope: Envelope, attempt: int, node: str, groups: Sequence[Lines], counts: Counter[str]
) -> list[ParsedSegment]:
    """The lines of each group, as the next ones of the file that its place makes up."""
    names = [source_name(group.place) for group in groups]
    ends = logs.end_offsets(envelope.run_id, attempt, node, names)
    if len(ends) < len(set(names)) and logs.source_count(envelope.run_id) >= MAX_SOURCES:
        counts["sources_refused"] += len(set(names) - set(ends))
        names = [name if name in ends else OTHERS for name in names]
        ends |= logs.end_offsets(envelope.run_id, attempt, node, [OTHERS])
    known = logs.contexts(envelope.run_id, attempt, node, names)
    shared = {name for name, times in Counter(names).items() if times > 1}
    metas = []
    for name, group in zip(names, groups, strict=True):
        meta = SegmentMeta(
            source=name,
            channel=group.place.channel or "stdout",
            local_rank=group.place.local_rank,
            node=node or None,
            offset=ends.get(name, 0),
            seen_ns=envelope.received_ns,
            carry=known[name, 0].carry if (name, 0) in known else None,
        )
        metas.append(meta)
        if name in shared:
            ends[name] = meta.offset + _size(group)
    return _read(metas, groups)


def _entries(group: Lines) -> Entries:
    return group.columns.entries() if isinstance(group, ColumnGroup) else group.entries()


def _size(group: Lines) -> int:
    """Bytes of the lines in the file that they make up."""
    if isinstance(group, ColumnGroup):
        return sum(map(len, group.columns.text)) + len(group)
    texts = (text.removesuffix("\n").encode("utf-8", "replace") for text in group.text)
    return sum(len(text) + 1 for text in texts)


def _read(metas: Sequence[SegmentMeta], groups: Sequence[Lines]) -> list[ParsedSegment]:
    """The segments of all groups; of those that can be columns, and that no traceback goes on in,
    together."""
    together: dict[int, Source] = {}
    found: dict[int, ParsedSegment] = {}
    for number, (meta, group) in enumerate(zip(metas, groups, strict=True)):
        if meta.carry is not None and meta.carry.open:
            found[number] = parse_entries(meta, _entries(group))
        elif isinstance(group, ColumnGroup):
            together[number] = Source(meta, group.columns)
        elif (columns := columns_of(group.entries())) is not None:
            together[number] = Source(meta, columns)
        else:
            found[number] = parse_entries(meta, group.entries())
    found.update(zip(together, parse_sources(list(together.values())), strict=True))
    return [found[number] for number in range(len(groups))]


def _placed(segment: ParsedSegment, place: Place) -> ParsedSegment:
    """Labels that name rank and node say where the rank runs."""
    if place.rank is None or not place.node or not len(segment.lines):
        return segment
    said = Placement(place.rank, place.node, place.local_rank, None, None, None,
                     int(segment.lines.time_ns[0]))  # fmt: skip
    return replace(segment, placements=[said, *segment.placements])
