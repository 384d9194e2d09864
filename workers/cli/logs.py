"""`lastgood logs`: the newest lines, every line, or those to come."""

from __future__ import annotations

import re
import sys
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from workers.cli.server import Server, Trouble
from workers.cli.words import Style, age, line

FOUND, NOTHING, TROUBLE = 0, 1, 2
PATH = "/api/v1/logs/query"
NEWEST = 200
PAGE = 20_000
PAUSE_S = 1.0
MOST_PAUSE_S = 15.0
LATE_NS = 60 * 10**9
"""Lines that come this late are still shown by --follow: their host's clock or shipper lags."""
REMEMBERED = 200_000
_KEY = re.compile(r"[a-z]+(?:>=|<=|=|:)")


@dataclass(frozen=True, slots=True)
class LogsAsk:
    """What the command line asks for. lines: newest lines, None: NEWEST unless whole or a time is
    given."""

    run: str
    query: tuple[str, ...] = ()
    rank: str | None = None
    node: str | None = None
    level: str | None = None
    attempt: int | None = None
    since: str | None = None
    from_: str | None = None
    to: str | None = None
    lines: int | None = None
    whole: bool = False
    follow: bool = False

    def parameters(self) -> dict[str, str]:
        """The parameters of the request, without those of paging."""
        keys = {"rank:": self.rank, "node:": self.node, "level>=": self.level}
        words = [
            *map(_quoted, self.query),
            *(f"{key}{value}" for key, value in keys.items() if value),
        ]
        given = {
            "run": self.run,
            "q": " ".join(words),
            "attempt": None if self.attempt is None else str(self.attempt),
            "since": self.since,
            "from": self.from_,
            "to": self.to,
        }
        return {name: value for name, value in given.items() if value}


def _quoted(word: str) -> str:
    """What the shell kept together stays together; a regex, quotes and keys are left alone."""
    if not any(map(str.isspace, word)) or word.startswith("/") or '"' in word or _KEY.match(word):
        return word
    return '"' + word.replace("\\", "\\\\") + '"'


@dataclass(slots=True)
class _Shown:
    """What was printed: how many lines, the latest time among them, and the newest by name."""

    lines: int = 0
    latest_ns: int = 0
    names: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def add(self, record: Mapping[str, Any]) -> bool:
        """Whether this line was not printed before."""
        if record["at"] in self.names:
            return False
        self.names[record["at"]] = None
        if len(self.names) > REMEMBERED:
            self.names.popitem(last=False)
        self.lines += 1
        self.latest_ns = max(self.latest_ns, record["time_ns"])
        return True


def show_logs(server: Server, ask: LogsAsk, style: Style) -> int:
    """Prints the lines; how many. With --follow until it is interrupted. Raises Trouble."""
    shown = _Shown()
    _print(_first(server, ask), style, shown)
    if ask.follow:
        _follow(server, ask, style, shown)
    return shown.lines


def _first(server: Server, ask: LogsAsk) -> Iterator[dict[str, Any]]:
    """The lines that are there already, oldest first."""
    if ask.whole or (ask.lines is None and (ask.since or ask.from_)):
        yield from _pages(server, {**ask.parameters(), "order": "oldest"}, PAGE)
        return
    wanted = NEWEST if ask.lines is None else ask.lines
    asked = {**ask.parameters(), "order": "newest"}
    newest = list(islice(_pages(server, asked, wanted), wanted))
    yield from reversed(newest)


def _pages(
    server: Server, asked: Mapping[str, str], lines: int, *, quiet: bool = False
) -> Iterator[dict[str, Any]]:
    """Lines page after page. Unless quiet, stderr says how far a search is, and why nothing was
    found. Raises Trouble."""
    cursor, found = "", 0
    while True:
        page = {**asked, "limit": str(max(1, lines))} | ({"cursor": cursor} if cursor else {})
        end: dict[str, Any] = {}
        for record in server.records(PATH, page):
            if record["kind"] == "line":
                found += 1
                yield record
            elif record["kind"] == "error":
                raise Trouble(f"{record['error']} ({record['where']})", hint=record["hint"])
            elif record["kind"] == "end":
                end = record
            elif not quiet and sys.stderr.isatty():
                _say(f"searched {record['scanned']} of {record['total']} chunks", end="\r")
        if not end:
            raise Trouble("the answer was cut off", again=True)
        cursor = end["next"] or ""
        if not cursor:
            if not found and not quiet:
                _say_nothing(asked, end)
            return


def _say_nothing(asked: Mapping[str, str], end: Mapping[str, Any]) -> None:
    newest = end.get("newest_ns")
    if newest is None:
        _say(f"no line: {asked['run']} has sent nothing yet")
    else:
        _say(f"no line; the last sign of {asked['run']} came {age(time.time() - newest / 1e9)}")


def _follow(server: Server, ask: LogsAsk, style: Style, shown: _Shown) -> None:
    """New lines, for ever. A server that is away is waited for."""
    pause_s, began_ns = PAUSE_S, time.time_ns()
    asked = {k: v for k, v in ask.parameters().items() if k not in ("since", "from")}
    while True:
        time.sleep(pause_s)
        from_ns = (shown.latest_ns or began_ns) - LATE_NS
        span = {**asked, "order": "oldest", "from": str(from_ns)}
        try:
            _print(_pages(server, span, PAGE, quiet=True), style, shown)
            pause_s = PAUSE_S
        except Trouble as error:
            if not error.again:
                raise
            _say(f"{error}; trying again")
            pause_s = min(pause_s * 2, MOST_PAUSE_S)


def _print(records: Iterable[dict[str, Any]], style: Style, shown: _Shown) -> None:
    for record in records:
        if shown.add(record):
            print(line(record, style))  # noqa: T201
    sys.stdout.flush()


def _say(words: str, end: str = "\n") -> None:
    print(f"lastgood: {words}", file=sys.stderr, end=end)  # noqa: T201
