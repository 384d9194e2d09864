"""The logs page in values: the first lines, what the query says, counts, quick choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.core.records import Severity
from apps.dashboard.log_ask import NEWEST, OLDEST, LogAsk, moment
from apps.dashboard.log_feed import row
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.store import IncidentQuery
from apps.logs import search
from apps.logs.domain.query.cursor import pack_cursor, unpack_cursor
from apps.logs.domain.query.marks import Marker, fault_at, marker
from apps.logs.domain.query.querytext import QueryText, parse_query, say_query
from apps.logs.domain.query.ranksets import BadQuery, say_ranks
from apps.logs.records import LogQuery
from apps.runs.records import AttemptInfo, RunInfo

PAGE = 200
FIRST_LINES = 100
"""Of a page as it is first shown; its script asks for more when they come near."""
FIRST_S = 1.5
"""Seconds of search before a page is shown with what was found; its script goes on from there."""
STREAM_S = 15.0
MINUTE_NS = 60 * 10**9
LEVELS = tuple(severity.name.lower() for severity in Severity)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of one run. parts: empty where the query cannot be read (fault says why).

    attempt: the one that is meant, None if the run has none.
    """

    run: RunInfo
    ask: LogAsk
    attempt: int | None
    parts: QueryText
    marker: Marker
    fault: dict[str, Any] | None = None

    def query(self, **changes: Any) -> LogQuery:
        """The lines that are asked for, the newest first if the address says so."""
        base = LogQuery(
            run_id=self.run.id,
            attempt=self.attempt,
            from_ns=self.ask.from_ns,
            to_ns=self.ask.to_ns,
            newest_first=self.ask.order == NEWEST,
            limit=PAGE,
            max_s=STREAM_S,
            max_chunks=1_000_000,
        )
        return replace(replace(self.parts, attempt=None).into(base), **changes)

    @property
    def by_steps(self) -> bool:
        """Whether steps are asked for: lines that name none are then found by their minutes."""
        return self.parts.from_step is not None or self.parts.to_step is not None

    @property
    def from_text(self) -> str:
        """Where the range begins, as its field shows it."""
        return moment(self.ask.from_ns)

    @property
    def to_text(self) -> str:
        """Where the range ends, as its field shows it."""
        return moment(self.ask.to_ns)

    def said(self) -> dict[str, Any]:
        """The question as the page's script shows it."""
        return {
            "address": self.ask.address(at=self.ask.at),
            "text": self.ask.text,
            "attempt": self.attempt,
            "from": self.from_text,
            "to": self.to_text,
            "order": self.ask.order,
            "by_steps": self.by_steps,
            "controls": self.controls(),
            "fault": self.fault,
        }

    def controls(self) -> dict[str, str]:
        """What the fields beside the query show."""
        low, high = self.parts.min_severity, self.parts.max_severity
        return {
            "level": Severity(low).name.lower() if high == Severity.CRITICAL else "",
            "rank": say_ranks(self.parts.rank_spans),
            "node": ",".join(self.parts.nodes),
        }


def question(run: RunInfo, attempts: Sequence[AttemptInfo], ask: LogAsk) -> Question:
    """What the address asks; never fails: a query that cannot be read is a fault to be shown."""
    parts, fault = QueryText(), None
    try:
        parts = parse_query(ask.text)
    except BadQuery as error:
        start, end = fault_at(ask.text, error)
        pieces = [ask.text[:start], ask.text[start:end], ask.text[end:]]
        fault = {"message": error.message, "hint": error.hint, "pieces": pieces}
    newest = attempts[-1].number if attempts else None
    asked = ask.attempt if parts.attempt is None else parts.attempt
    return Question(run, ask, newest if asked is None else asked, parts, marker(parts), fault)


@dataclass(frozen=True, slots=True)
class Found:
    """Some lines in time order. older, newer: where to go on, None at the end."""

    rows: Sequence[dict[str, Any]]
    older: str | None
    newer: str | None
    searched: int
    total: int
    partial: bool


@dataclass(slots=True)
class _Side:
    """What one search found, in the order of the search."""

    rows: list[dict[str, Any]]
    next: str | None = None
    searched: int = 0
    total: int = 0
    partial: bool = False


def first_page(asked: Question) -> Found:
    """The lines that the address shows first, as far as FIRST_S finds them. Raises BadCursor."""
    ask = asked.ask
    if ask.at:
        older = _search(
            asked, newest_first=True, after_cursor=behind(ask.at), limit=FIRST_LINES // 2
        )
        newer = _search(asked, newest_first=False, after_cursor=ask.at, limit=FIRST_LINES // 2)
        return _joined(older, newer)
    if ask.after:
        newer = _search(asked, newest_first=False, after_cursor=ask.after)
        return _joined(_Side([], newer.rows[0]["at"] if newer.rows else None), newer)
    if ask.before:
        older = _search(asked, newest_first=True, after_cursor=ask.before)
        return _joined(older, _Side([], older.rows[0]["at"] if older.rows else None))
    if ask.order == OLDEST:
        return _joined(_Side([]), _search(asked, newest_first=False))
    return _joined(_search(asked, newest_first=True), _Side([]))


def behind(cursor: str) -> str:
    """The cursor that searching backwards from gives the line of `cursor` first."""
    time_ns, rank, seq, place = unpack_cursor(cursor)
    return pack_cursor((time_ns, rank, seq, f"{place}\0"))


def _search(asked: Question, **changes: Any) -> _Side:
    side = _Side([])
    for part in search.scan(asked.query(**{"max_s": FIRST_S, "limit": FIRST_LINES, **changes})):
        side.rows += [row(line, asked.marker) for line in part.lines]
        side.searched, side.total = part.chunks_scanned, part.chunks_total
        side.next, side.partial = part.next_cursor, part.partial
    return side


def _joined(older: _Side, newer: _Side) -> Found:
    return Found(
        rows=[*reversed(older.rows), *newer.rows],
        older=older.next,
        newer=newer.next,
        searched=older.searched + newer.searched,
        total=older.total + newer.total,
        partial=older.partial or newer.partial,
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """A range that one click asks for."""

    label: str
    address: str
    chosen: bool


def choices(asked: Question, attempt: AttemptInfo | None, now_ns: int) -> list[Choice]:
    """Quick ranges: around the onset of the attempt's incident, the last 10 minutes, all of it."""
    ranges: list[tuple[str, int | None, int | None, str]] = []
    for incident in incidents_of(asked)[:1]:
        onset = incident.onset_time_ns
        span = (onset - 5 * MINUTE_NS, onset + 2 * MINUTE_NS)
        ranges.append((f"around {incident.label}", *span, OLDEST))
    if attempt is not None and attempt.last_ns is not None:
        running = asked.run.state == "running" and attempt.state == "running"
        end = max(now_ns, attempt.last_ns) if running else attempt.last_ns
        ranges.append(("last 10 min", end - 10 * MINUTE_NS, None, NEWEST))
    ranges.append(("whole attempt", None, None, NEWEST))
    shown = (asked.ask.from_ns, asked.ask.to_ns)
    return [
        Choice(label, asked.ask.address(from_ns=a, to_ns=b, order=order), (a, b) == shown)
        for label, a, b, order in ranges
    ]


def widened(asked: Question) -> dict[str, str]:
    """Addresses that ask for more: without the range, the level, ranks and hosts, the query."""
    ask, parts = asked.ask, asked.parts
    all_levels = replace(parts, min_severity=Severity.DEBUG, max_severity=Severity.CRITICAL)
    return {
        "time": ask.address(from_ns=None, to_ns=None),
        "level": ask.address(text=say_query(all_levels)),
        "rank": ask.address(text=say_query(replace(parts, rank_spans=(), nodes=()))),
        "text": ask.address(text=""),
    }


def incidents_of(asked: Question) -> list[IncidentInfo]:
    """Incidents of the attempt, the newest first."""
    found = incidents.list_incidents(IncidentQuery(run_id=asked.run.id, limit=20))
    return [i for i in found if i.attempt == asked.attempt and i.onset_time_ns]
