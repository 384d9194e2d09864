"""Lines that tell numbers of the job, read when their file speaks for the job: mostly it does not.

Of 64 ranks that print the same step line one speaks; the lines of the others are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import overload

from apps.core.records import MetricRow
from apps.logs.domain.joblines import Format, JobRow, row_of

_NO_ROW = MetricRow(0, 0, {})


@dataclass(frozen=True, slots=True)
class LateJobs(Sequence[JobRow]):
    """Each of these lines tells a row. lines: ascending. formats: of each. message, time_ns: of a
    line."""

    lines: Sequence[int]
    formats: Sequence[Format]
    message: Callable[[int], str]
    time_ns: Callable[[int], int]

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, index: int) -> JobRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[JobRow]: ...
    def __getitem__(self, index: int | slice) -> JobRow | list[JobRow]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        line, known = self.lines[index], self.formats[index]
        row = row_of(known, self.message(line), self.time_ns(line))
        return JobRow(line, known.family, row or _NO_ROW)


@dataclass(frozen=True, slots=True)
class Told:
    """What lines of a file told of the job in formats of one family. rows: numbers of those of
    `job` that are new. local_rank: of the file, None for a console."""

    name: str
    local_rank: int | None
    family: str
    job: Sequence[JobRow]
    rows: Sequence[int]

    def read(self) -> list[MetricRow]:
        """The rows themselves."""
        return [self.job[at].row for at in self.rows]


def told_in(
    name: str, local_rank: int | None, job: Sequence[JobRow], keep: Iterable[int] | None
) -> list[Told]:
    """What the lines of a file told, by family. keep: the lines that are new, None for all."""
    if not len(job):
        return []
    if isinstance(job, LateJobs):
        said = zip(job.lines, (known.family for known in job.formats), strict=True)
    else:
        said = zip([one.line for one in job], [one.family for one in job], strict=True)
    kept = None if keep is None else set(keep)
    families: dict[str, list[int]] = {}
    for at, (line, family) in enumerate(said):
        if kept is None or line in kept:
            families.setdefault(family, []).append(at)
    return [Told(name, local_rank, family, job, rows) for family, rows in families.items()]
