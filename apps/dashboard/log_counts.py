"""What befell the log lines of a run, in words: nothing is dropped, late or cut in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.ingest import store as ingest

_Row = tuple[tuple[str, ...], str, str, str]


@dataclass(frozen=True, slots=True)
class Count:
    """A number that is always in view. tone: "warn" if it is bad and not zero."""

    value: int
    word: str
    title: str
    tone: str = ""


_ALWAYS: tuple[_Row, ...] = (
    (
        ("lines",),
        "lines in all",
        "stored of this run: of all attempts, repeats of rank files by consoles and W&B among "
        "them, which lists, patterns and files of one attempt leave out",
        "",
    ),
    (("bad_lines", "dropped_lines"), "dropped", "could not be read, or were not kept", "warn"),
    (("gaps",), "gaps", "stretches of files that never came", "warn"),
    (
        ("late_lines",),
        "late",
        "more than 10 s older than lines that came before them, as from a host that catches up or "
        "a replay faster than time; they stand where they belong",
        "",
    ),
)
_IF_ANY: tuple[_Row, ...] = (
    (("repeated_lines",), "repeated", "came again and were stored once", ""),
    (("invalid_utf8_bytes",), "undecodable bytes", "no UTF-8; kept as they came", ""),
    (
        ("long_lines", "truncated_lines"),
        "long",
        "longer than a line may be; split, with a mark",
        "",
    ),
    (("partial_lines",), "unfinished", "sent in parts and joined", ""),
    (("unreadable_times",), "without time", "their time could not be read: that of arrival", ""),
    (("sources_refused",), "files too many", "beyond the bound; their lines are in one", "warn"),
    (("lines_of_unknown_attempt",), "of an unknown attempt", "shown in the newest one", "warn"),
)
"""(counters that are added up, word, explanation, tone if not zero)"""


def counts(run_id: int) -> Sequence[Count]:
    """Lines, dropped, gaps and late always; the rest where it is not zero."""
    return counted(ingest.counters(run_id))


def counted(counters: Mapping[str, int]) -> list[Count]:
    """The same of the counters of a run."""
    always = [(row, _sum(row, counters)) for row in _ALWAYS]
    further = [(row, total) for row in _IF_ANY if (total := _sum(row, counters))]
    return [
        Count(total, word, title, tone if total else "")
        for (_, word, title, tone), total in (*always, *further)
    ]


def _sum(row: _Row, counters: Mapping[str, int]) -> int:
    return sum(counters.get(name, 0) for name in row[0])
