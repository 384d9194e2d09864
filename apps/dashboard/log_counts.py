"""What befell the log lines of a run, in words: nothing is dropped, late or cut in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.ingest import services as ingest


@dataclass(frozen=True, slots=True)
class Count:
    """A number that is always in view. tone: "warn" if it is bad and not zero."""

    value: int
    word: str
    title: str
    tone: str = ""


_ALWAYS = (
    ("lines", "lines", "stored of this run, all attempts", ""),
    ("dropped_lines", "dropped", "refused or dropped; the ingest page has the reasons", "warn"),
    ("gaps", "gaps", "stretches of files that never came", "warn"),
    ("late_lines", "late", "came long after younger lines; they stand where they belong", ""),
)
_IF_ANY = (
    ("repeated_lines", "repeated", "came again and were stored once", ""),
    ("invalid_utf8_bytes", "undecodable bytes", "no UTF-8; kept as they came", ""),
    ("truncated_lines", "cut", "longer than a line may be; split, with a mark", "warn"),
    ("partial_lines", "unfinished", "sent in parts and joined", ""),
)


def counts(run_id: int) -> Sequence[Count]:
    """Lines, dropped, gaps and late always; the rest where it is not zero."""
    return counted(ingest.status(run_id).counters)


def counted(counters: Mapping[str, int]) -> list[Count]:
    """The same of the counters of a run."""
    shown = [(*one, counters.get(one[0], 0)) for one in _ALWAYS]
    shown += [(*one, counters[one[0]]) for one in _IF_ANY if counters.get(one[0])]
    return [
        Count(value, word, title, tone if value else "") for _, word, title, tone, value in shown
    ]
