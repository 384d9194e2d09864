"""What looking at the headers of one kind of file gives."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from apps.checkpoints.domain.codes import CheckpointFinding, Code, named
from apps.checkpoints.domain.layouts.base import FoundStep
from apps.checkpoints.domain.reading import Source, Unreadable, Vanished


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
    """What is wrong with the files of one step, gathered. skipped: a header was not looked at."""

    found: FoundStep
    source: Source
    policy: CheckPolicy
    findings: list[CheckpointFinding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    skipped: bool = False
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

    def gathered(self) -> tuple[CheckpointFinding, ...]:
        """All findings, in the order of their codes' first sight."""
        told = [
            told
            for (code, text, what), names in self._problems.items()
            for told in named(code, text, dict.fromkeys(names), what=what)
        ]
        return (*self.findings, *told)
