"""Lines that tell numbers of the job, read when their file speaks for the job: mostly it does not.

Of 64 ranks that print the same step line one speaks; the lines of the others are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from apps.core.records import MetricRow
from apps.logs.domain.reading.joblines import FORMATS, JobRow, row_of

_NO_ROW = MetricRow(0, 0, {})


@dataclass(frozen=True, slots=True, eq=False)
class LateJobs(Sequence[JobRow]):
    """Each of these lines tells a row. lines: int64[n], ascending. formats: int64[n], index into
    FORMATS. messages: of some lines. time_ns: of one."""

    lines: NDArray[np.int64]
    formats: NDArray[np.int64]
    messages: Callable[[NDArray[np.int64]], Sequence[str]]
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
        line, known = int(self.lines[index]), FORMATS[int(self.formats[index])]
        return JobRow(line, known.family, self.rows([index])[0])

    def rows(self, numbers: Sequence[int]) -> list[MetricRow]:
        """The rows with these numbers."""
        lines = self.lines[np.asarray(numbers, dtype=np.int64)]
        formats = [FORMATS[at] for at in self.formats[numbers].tolist()]
        said = zip(formats, self.messages(lines), map(self.time_ns, lines.tolist()), strict=True)
        return [row_of(*one) or _NO_ROW for one in said]

    def part(self, first: int, last: int, start: int) -> LateJobs:
        """Those from number `first` to before `last`, of lines counted from `start`."""
        here = slice(first, last)
        return LateJobs(
            self.lines[here] - start,
            self.formats[here],
            lambda lines: self.messages(lines + start),
            lambda line: self.time_ns(line + start),
        )

    def families(self, keep: Collection[int] | None) -> dict[str, list[int]]:
        """Family -> its numbers in this sequence, of lines that are in `keep`."""
        kept = np.arange(len(self))
        if keep is not None:
            kept = kept[np.isin(self.lines, list(keep))]
        found: dict[str, list[int]] = {}
        for number in np.unique(self.formats[kept]).tolist():
            family = FORMATS[number].family
            mine = kept[self.formats[kept] == number].tolist()
            found[family] = sorted([*found.get(family, ()), *mine])
        return dict(sorted(found.items(), key=lambda one: one[1][0]))


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
        """The rows themselves; none for a line that tells nothing after all."""
        if isinstance(self.job, LateJobs):
            return [row for row in self.job.rows(self.rows) if row.values]
        return [self.job[at].row for at in self.rows]


def told_in(
    name: str, local_rank: int | None, job: Sequence[JobRow], keep: Collection[int] | None
) -> list[Told]:
    """What the lines of a file told, by family. keep: the lines that are new, None for all."""
    if not len(job):
        return []
    families: dict[str, list[int]] = {}
    if isinstance(job, LateJobs):
        families = job.families(keep)
    else:
        for at, one in enumerate(job):
            if keep is None or one.line in keep:
                families.setdefault(one.family, []).append(at)
    return [Told(name, local_rank, family, job, rows) for family, rows in families.items()]
