"""What the processes of a `wandb` run printed, line by line with numbers, for `wandb.Api`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from apps.core.errors import BadPayload
from apps.core.records import Severity
from apps.core.words import whole
from apps.logs import store as logs
from apps.logs.records import LogEntry, LogQuery

MAX_LINES: Final = 5_000
MAX_READS: Final = 20
"""For one page: on a node that sends many other files, few of the lines may be of the console."""
SOURCE: Final = "wandb/"
"""Console lines of the client are stored as files with such names."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST: Final = 2**53


@dataclass(frozen=True, slots=True)
class Place:
    """Where to go on: behind `before` lines, in an attempt, at a cursor of its lines."""

    before: int = 0
    attempt: int = 0
    cursor: str = ""

    def text(self) -> str:
        """What `place_of` reads."""
        return f"{self.before}:{self.attempt}:{self.cursor}"


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of the console in order. number: of the first. more: there are some behind `place`."""

    number: int
    lines: list[LogEntry]
    place: Place
    more: bool

    def answer(self) -> dict[str, Any]:
        """The page as the client reads it."""
        lines = enumerate(self.lines, self.number)
        return {
            "edges": [{"node": _node(number, entry)} for number, entry in lines],
            "pageInfo": {"endCursor": self.place.text(), "hasNextPage": self.more},
        }


def place_of(text: str) -> Place:
    """The place of a cursor; BadPayload if it is none."""
    before, _, rest = text.partition(":")
    attempt, _, cursor = rest.partition(":")
    if not text:
        return Place()
    lines, number = whole(before, _MOST), whole(attempt, _MOST)
    if lines is None or number is None or len(text) >= 1_000:
        raise BadPayload("is no cursor of this server", where="after")
    return Place(lines, number, cursor)


def page(run_id: int, attempts: Sequence[int], start: Place, count: int) -> Page:
    """About `count` lines from a place on, attempt after attempt."""
    found, place = list[LogEntry](), start
    pieces = _pieces(run_id, [a for a in attempts if a >= start.attempt], start, count)
    for reads, (lines, attempt, cursor) in enumerate(pieces, 1):
        found += lines
        place = Place(start.before + len(found), attempt, cursor)
        if len(found) >= count or reads == MAX_READS:
            break
    return Page(start.before, found, place, place.attempt <= max(attempts, default=-1))


def tail(run_id: int, attempts: Sequence[int], count: int) -> Page:
    """The newest `count` lines of the newest attempt, at most."""
    newest = max(attempts, default=0)
    printed = _consoles(run_id, [newest])[newest]
    query = LogQuery(run_id, newest, node=printed.node, limit=count, newest_first=True, copies=True)
    lines = [entry for entry in logs.read_lines(query).lines if printed.keeps(entry)][::-1]
    number = max(0, line_count(run_id, attempts) - len(lines))
    return Page(number, lines, Place(number + len(lines), newest + 1), more=False)


def line_count(run_id: int, attempts: Sequence[int]) -> int:
    """How many lines the console has."""
    return sum(printed.lines for printed in _consoles(run_id, attempts).values())


@dataclass(frozen=True, slots=True)
class _Printed:
    """The console of an attempt. node: the one it came from, None if there are several. own: the
    client sent one; if not, all lines of the attempt are taken for it."""

    node: str | None
    own: bool
    lines: int

    def keeps(self, entry: LogEntry) -> bool:
        return not self.own or entry.source.startswith(SOURCE)


def _consoles(run_id: int, attempts: Collection[int]) -> dict[int, _Printed]:
    """attempt -> its console. One statement, however many attempts and files."""
    totals = logs.file_totals(run_id, attempts, SOURCE)
    found = {}
    for attempt in attempts:
        own, others = totals.get((attempt, True)), totals.get((attempt, False), (0, "", 0))
        nodes, node, lines = own or others
        found[attempt] = _Printed(node if own and nodes == 1 else None, own is not None, lines)
    return found


def _pieces(
    run_id: int, attempts: Sequence[int], start: Place, count: int
) -> Iterator[tuple[list[LogEntry], int, str]]:
    """Lines of one read each, and where to go on behind them."""
    for attempt, printed in _consoles(run_id, attempts).items():
        cursor: str | None = start.cursor if attempt == start.attempt else ""
        while cursor is not None:
            query = LogQuery(run_id, attempt, node=printed.node, after_cursor=cursor or None,
                             limit=count, copies=True)  # fmt: skip
            got = logs.read_lines(query)
            cursor = got.next_cursor
            lines = [entry for entry in got.lines if printed.keeps(entry)]
            yield (lines, attempt + 1, "") if cursor is None else (lines, attempt, cursor)


def _node(number: int, entry: LogEntry) -> dict[str, Any]:
    at = _EPOCH + timedelta(microseconds=entry.time_ns // 1_000)
    return {
        "number": number,
        "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.%f"),
        "level": "error" if entry.severity >= Severity.ERROR else "",
        "label": "",
        "line": entry.text,
    }
