"""What looking at the headers of one kind of file gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from apps.checkpoints.domain.codes import CheckpointFinding, Code, named
from apps.checkpoints.domain.layouts.base import FoundStep
from apps.checkpoints.domain.reading import Part, Source, Unreadable, Vanished

WINDOW = 512
"""Files whose headers are held at once: 512 x 64 KiB are 32 MiB."""


class Problem(Exception):
    """A header that is not as it should be: which code it gets, and in words that follow a name."""

    def __init__(self, code: Code, problem: str) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem


def windows(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The names in their order, some hundred at a time."""
    return (names[at : at + WINDOW] for at in range(0, len(names), WINDOW))


@dataclass(frozen=True, slots=True)
class CheckPolicy:
    """workers: reads at the same time. max_metadata_bytes: a larger `.metadata` is not parsed: 150
    bytes a chunk, 256 MiB are 1.8 million chunks. header_bytes: of a file, read at once.
    max_header_bytes: a larger header or pickle is left unread."""

    workers: int = 1
    max_metadata_bytes: int = 256 * 1024 * 1024
    header_bytes: int = 64 * 1024
    max_header_bytes: int = 64 * 1024 * 1024


@dataclass(slots=True)
class Seen:
    """What is wrong with the files of one step, gathered. skipped: a header was not looked at.
    foreign: file -> classes of other packages that its pickle names. lost: files that the inventory
    misses: what names them too says nothing new."""

    found: FoundStep
    source: Source
    policy: CheckPolicy
    lost: frozenset[str] = frozenset()
    findings: list[CheckpointFinding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    skipped: bool = False
    foreign: dict[str, set[str]] = field(default_factory=dict)
    _problems: dict[tuple[Code, str, str], list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, code: Code, problem: str, name: str, what: str = "file") -> None:
        """One file, or tensor, that has a problem; those with the same one make one finding."""
        self._problems[code, problem, what].append(name)

    def skip(self, problem: str, name: str) -> None:
        """A file whose header could not be looked at."""
        self.skipped = True
        self.add(Code.UNCHECKED, problem, name)

    def failed(self, error: Vanished | Unreadable, name: str) -> None:
        """A file that could not be read."""
        if isinstance(error, Vanished):
            self.add(Code.MISSING_SHARD, "gone since the folder was listed", name)
        else:
            self.skip(f"not read ({error.message})", name)

    def read(
        self, parts: Sequence[Part], ends: Mapping[str, bytes] = MappingProxyType({})
    ) -> dict[str, bytes]:
        """Name -> content of one part of each file, read side by side; failures are noted.

        ends: last bytes of files that are read already; what lies in them is not read again.
        """
        got: dict[str, bytes] = {}
        asked: list[Part] = []
        for part in parts:
            end = ends.get(part.name, b"")
            at = part.start - (self.found.files[part.name].size - len(end))
            if end and at >= 0:
                got[part.name] = end[at : at + part.length]
            else:
                asked.append(part)
        placed = [Part(self.found.place(p.name), p.start, p.length) for p in asked]
        for part, content in zip(asked, self.source.many(placed), strict=True):
            if isinstance(content, bytes):
                got[part.name] = content
            else:
                self.failed(content, part.name)
        return got

    def gathered(self) -> tuple[CheckpointFinding, ...]:
        """All findings, in the order of their codes' first sight."""
        told = [
            told
            for (code, text, what), names in self._problems.items()
            for told in named(code, text, dict.fromkeys(names), what=what)
        ]
        return (*self.findings, *told)
