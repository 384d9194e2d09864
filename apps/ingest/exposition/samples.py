"""Lines of the Prometheus text format and of OpenMetrics: those that are asked for. Plain Python.

https://prometheus.io/docs/instrumenting/exposition_formats/ An exporter says thousands of series,
of which a few dozen are wanted; a line that cannot be read must not hide the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

MAX_LINE = 16_384
MAX_LABELS = 60
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'[ \t]*,?[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"')
_END = re.compile(r"[ \t]*,?[ \t]*\}")
_VALUE = re.compile(r"[ \t]*([^ \t#]{1,40})(?:[ \t]+(-?\d{1,16}(?:\.\d{1,9})?))?[ \t]*(?:#.*)?$")
_ESCAPED = re.compile(r"\\(.)")
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d{1,3})?|\.\d+|[iI]nf(?:inity)?|[nN]a[nN])")


@dataclass(frozen=True, slots=True)
class Sample:
    """One line. time: of the sample as written, None if it has none."""

    name: str
    labels: dict[str, str]
    value: float
    time: float | None = None


@dataclass(slots=True)
class Tally:
    """What was in a text: lines that are samples of some series, and lines that are nothing."""

    samples: int = 0
    unread: int = 0


@dataclass(slots=True)
class Samples:
    """Reads a text once. wanted: whether samples of a name are asked for."""

    wanted: Callable[[str], bool]
    tally: Tally = field(default_factory=Tally)

    def read(self, text: str) -> Iterator[Sample]:
        """The samples that are wanted, in their order. O(length)."""
        for line in text.split("\n"):
            if not line or line[0] == "#" or not line.strip():
                continue
            named = _NAME.match(line, len(line) - len(line.lstrip()))
            if named is None:
                self.tally.unread += 1
                continue
            self.tally.samples += 1
            if not self.wanted(named[0]):
                continue
            sample = _sample(named[0], line[:MAX_LINE].rstrip(), named.end())
            if sample is None:
                self.tally.samples -= 1
                self.tally.unread += 1
            else:
                yield sample


def _sample(name: str, line: str, at: int) -> Sample | None:
    labels: dict[str, str] = {}
    blank = len(line) - len(line[at:].lstrip())
    if line[blank : blank + 1] == "{":
        at = blank + 1
        while (found := _LABEL.match(line, at)) and len(labels) < MAX_LABELS:
            labels[found[1]] = _ESCAPED.sub(_unescaped, found[2])
            at = found.end()
        end = _END.match(line, at)
        if end is None:
            return None
        at = end.end()
    elif blank == at:
        return None
    said = _VALUE.match(line, at)
    if said is None or not _FLOAT.fullmatch(said[1]):
        return None
    return Sample(name, labels, float(said[1]), float(said[2]) if said[2] else None)


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]
