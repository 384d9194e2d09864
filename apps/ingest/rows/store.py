"""Which records of a followed file are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apps.ingest.models import FollowedPart
from apps.ingest.pieces import PieceHeader
from apps.ingest.rows.marks import Marks, Rows, noted, same_until, without
from apps.logs.domain.chunk.coverage import Coverage, accept


@dataclass(frozen=True, slots=True)
class Fresh:
    """What of a body was new. numbers: of its new records. gaps: opened by it. missing: change of
    the records that are not here. replaced: stored ones that the file does not hold any more."""

    numbers: Sequence[int]
    repeated: int
    gaps: int
    missing: int
    replaced: int

    def counts(self) -> dict[str, int]:
        """For the counters of the run."""
        return {
            "repeated_lines": self.repeated,
            "gaps": self.gaps,
            "missing_lines": self.missing,
            "replaced_rows": self.replaced,
        }


def take(run_id: int, header: PieceHeader, content: Callable[[int], bytes] | None = None) -> Fresh:
    """The records of a body that are not stored yet; they count as stored from here on.

    content: what the record of a number says, for files that may begin anew under the same part: a
    record that says something else than the stored one of its number is new, with all behind it.
    Holds no lock: the caller holds the run's row. -- uses the primary key
    """
    key = {"run_id": run_id, "file": header.file, "part": header.part}
    row = FollowedPart.objects.filter(**key).first() or FollowedPart(**key, end=header.begins)
    numbers = range(header.first, header.first + len(header.lengths))
    before = Coverage(row.end, tuple((start, end) for start, end in row.gaps))
    held = before
    if content is not None:
        held = _recognised(row, before, Rows(numbers.start, numbers.stop, content))
    found = accept(held, numbers.start, numbers.stop, numbers)
    row.end, row.gaps = found.coverage.end, [list(gap) for gap in found.coverage.gaps]
    row.save()
    return Fresh(
        numbers=[numbers[at] for at in found.keep],
        repeated=len(numbers) - len(found.keep),
        gaps=int(found.opened is not None),
        missing=found.coverage.missing() - before.missing(),
        replaced=before.end - held.end,
    )


def _recognised(row: FollowedPart, before: Coverage, rows: Rows) -> Coverage:
    """What of the file is still held, and the marks of the row brought up to date."""
    marks = Marks(row.stride, tuple(row.digests))
    end = same_until(marks, rows)
    if end < min(rows.end, before.end):
        before, marks = before.until(end), without(marks, end)
    marks = noted(marks, rows)
    row.stride, row.digests = marks.stride, list(marks.digests)
    return before
