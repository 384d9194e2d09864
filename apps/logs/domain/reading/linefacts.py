"""Numbers and places that lines tell which were read as columns. Plain Python and NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.core.records import MetricRow
from apps.logs.domain.reading.columns import NO_RANK, NO_STEP, LineColumns
from apps.logs.domain.reading.facts import Placement, placement, rank_metrics
from apps.logs.domain.reading.joblines import FORMATS, is_unplaced, row_of
from apps.logs.domain.reading.latejobs import LateJobs
from apps.logs.domain.reading.lineheads import LineHeads
from apps.logs.domain.reading.rawtext import LineText

Bits = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class LineFacts:
    """Reads the messages of lines that may tell something. told: lines behind it tell nothing."""

    text: LineText
    heads: LineHeads
    told: int

    def body(self, number: int) -> str:
        """The message of one line."""
        start = int(self.text.start[number]) + int(self.heads.row["message_at"][number])
        return self.text.data[start : int(self.text.end[number])].decode("utf-8", "replace")

    def metrics(self, lines: LineColumns) -> tuple[list[MetricRow], list[int]]:
        """Numbers of single ranks, and the lines that tell them."""
        rows: list[MetricRow] = []
        numbers: list[int] = []
        may = self.heads.row["tells"] & (lines.step != NO_STEP) & (lines.rank != NO_RANK)
        for number in np.flatnonzero(may[: self.told]).tolist():
            if values := rank_metrics(self.body(number)):
                step, time_ns = int(lines.step[number]), int(lines.time_ns[number])
                rows.append(MetricRow(step, time_ns, values, int(lines.rank[number])))
                numbers.append(number)
        return rows, numbers

    def placements(self, lines: LineColumns, node: str | None) -> list[tuple[int, Placement]]:
        """(line, where it says that its rank runs)."""
        may = self.heads.row["places"] & (lines.step == NO_STEP) & (lines.rank != NO_RANK)
        found = []
        for number in np.flatnonzero(may[: self.told]).tolist():
            fact = placement(self.body(number), lines.line(number), node)
            if fact is not None:
                found.append((number, fact))
        return found

    def formats(self, data: bytes) -> Bits:
        """The formats that each line may be read in, a bit each. data: all lines."""
        job: Bits = self.heads.row["job"][: self.told]
        if not job.any():
            return job
        return job & sum(1 << at for at, each in enumerate(FORMATS) if each.rare.encode() in data)

    def jobs(self, job: Bits, lines: LineColumns) -> tuple[LateJobs, list[int]]:
        """Lines that tell of the job, and lines of a known format that tell no step."""
        said = np.flatnonzero(job)
        bits, which = np.unique(job[said], return_inverse=True)
        formats = np.array([first_format(one) for one in bits.tolist()], dtype=np.int64)[which]
        unplaced: list[int] = []
        telling = np.ones(len(said), dtype=np.bool_)
        for at in np.flatnonzero(~self.heads.row["usable"][said]).tolist():
            known, body = FORMATS[formats[at]], self.body(int(said[at]))
            if row_of(known, body, 0) is None:
                telling[at] = False
                unplaced += [int(said[at])] * is_unplaced(known, body)
        late = LateJobs(
            said[telling],
            formats[telling],
            lambda some: list(map(self.body, some.tolist())),
            lambda line: int(lines.time_ns[line]),
        )
        return late, unplaced


def first_format(bits: int) -> int:
    """The first format of a set: index into FORMATS."""
    return (bits & -bits).bit_length() - 1


def has_blocks(job: Bits) -> bool:
    """Whether some line is read in a format of several lines."""
    return any(FORMATS[first_format(bits)].block for bits in np.unique(job).tolist() if bits)
