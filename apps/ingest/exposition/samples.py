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


@dataclass(slots=True)
class Sample:
    """One line. labels: shared by all lines of a text that have the same ones."""

    name: str
    labels: dict[str, str]
    value: float


@dataclass(slots=True)
class Samples:
    """Reads a text once. wanted: whether samples of a name are asked for. found, unread: lines that
    are samples of some series, and lines that are nothing."""

    wanted: Callable[[str], bool]
    found: int = 0
    unread: int = 0
    _blocks: dict[str, tuple[dict[str, str], int]] = field(default_factory=dict)

    def read(self, text: str) -> Iterator[Sample]:
        """The samples that are wanted, in their order. O(length)."""
        for line in text.split("\n"):
            if not line or line[0] == "#" or not line.strip():
                continue
            named = _NAME.match(line, len(line) - len(line.lstrip()))
            if named is None:
                self.unread += 1
                continue
            self.found += 1
            if not self.wanted(named[0]):
                continue
            sample = self._sample(named[0], line[:MAX_LINE].rstrip(), named.end())
            if sample is None:
                self.found -= 1
                self.unread += 1
            else:
                yield sample

    def _sample(self, name: str, line: str, at: int) -> Sample | None:
        labels: dict[str, str] = {}
        blank = len(line) - len(line[at:].lstrip())
        if line[blank : blank + 1] == "{":
            labels, length = self._block(line[blank + 1 : line.rfind("}") + 1])
            if not length:
                return None
            at = blank + 1 + length
        elif blank == at:
            return None
        said = _VALUE.match(line, at)
        if said is None or not _FLOAT.fullmatch(said[1]):
            return None
        return Sample(name, labels, float(said[1]))

    def _block(self, text: str) -> tuple[dict[str, str], int]:
        """Labels and their length up to the brace; 0 if they cannot be read. All metrics of a GPU
        have the same ones: reading them once makes a text of a fleet five times as fast."""
        known = self._blocks.get(text)
        if known is None:
            known = self._blocks[text] = _labels(text)
        return known


def _labels(text: str) -> tuple[dict[str, str], int]:
    labels: dict[str, str] = {}
    at = 0
    while (found := _LABEL.match(text, at)) and len(labels) < MAX_LABELS:
        labels[found[1]] = _ESCAPED.sub(_unescaped, found[2])
        at = found.end()
    end = _END.match(text, at)
    return labels, end.end() if end else 0


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]
