"""Log lines of one file as columns: a list of lines that makes its records only when asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from apps.core.records import LogLine


@dataclass(slots=True)
class LineTable(Sequence[LogLine]):
    """Lines of one source, in file order. Columns have equal length.

    message_at: how many characters of the text are prefixes. originals: line number -> its bytes in
    the file, where they are not those of the text.
    Making a LogLine costs ten times a column append, and the writer needs columns only.
    """

    source: str
    time_ns: list[int] = field(default_factory=list)
    seq: list[int] = field(default_factory=list)
    channel: list[str] = field(default_factory=list)
    local_rank: list[int | None] = field(default_factory=list)
    rank: list[int | None] = field(default_factory=list)
    severity: list[int] = field(default_factory=list)
    step: list[int | None] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    message_at: list[int] = field(default_factory=list)
    originals: dict[int, bytes] = field(default_factory=dict)

    def message(self, number: int) -> str:
        """Text of one line without its prefixes."""
        return self.text[number][self.message_at[number] :]

    def messages(self, numbers: Sequence[int]) -> list[str]:
        """The same of many lines."""
        return [self.message(number) for number in numbers]

    def line(self, number: int) -> LogLine:
        """One line as a record."""
        return LogLine(
            self.time_ns[number],
            self.seq[number],
            self.source,
            self.channel[number],
            self.local_rank[number],
            self.rank[number],
            self.severity[number],
            self.step[number],
            self.text[number],
        )

    def select(self, keep: Sequence[int]) -> LineTable:
        """The lines with these numbers, in that order."""
        return LineTable(
            self.source,
            [self.time_ns[i] for i in keep],
            [self.seq[i] for i in keep],
            [self.channel[i] for i in keep],
            [self.local_rank[i] for i in keep],
            [self.rank[i] for i in keep],
            [self.severity[i] for i in keep],
            [self.step[i] for i in keep],
            [self.text[i] for i in keep],
            [self.message_at[i] for i in keep],
            {at: self.originals[i] for at, i in enumerate(keep) if i in self.originals},
        )

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Iterator[LogLine]:
        return map(self.line, range(len(self.seq)))

    @overload
    def __getitem__(self, index: int) -> LogLine: ...
    @overload
    def __getitem__(self, index: slice) -> LineTable: ...
    def __getitem__(self, index: int | slice) -> LogLine | LineTable:
        if isinstance(index, slice):
            return self.select(range(*index.indices(len(self.seq))))
        return self.line(index)
