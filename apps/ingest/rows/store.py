"""Which records of a followed file are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.ingest.models import FollowedPart
from apps.ingest.pieces import PieceHeader
from apps.logs.domain.coverage import Coverage, accept


@dataclass(frozen=True, slots=True)
class Fresh:
    """What of a body was new. numbers: of its new records. gaps: opened by it. missing: change of
    the records that are not here."""

    numbers: Sequence[int]
    repeated: int
    gaps: int
    missing: int

    def counts(self) -> dict[str, int]:
        """For the counters of the run."""
        return {
            "repeated_lines": self.repeated,
            "gaps": self.gaps,
            "missing_lines": self.missing,
        }


def take(run_id: int, header: PieceHeader) -> Fresh:
    """The records of a body that are not stored yet; they count as stored from here on.

    Holds no lock: the caller holds the run's row. -- uses the primary key
    """
    key = {"run_id": run_id, "file": header.file, "part": header.part}
    row = FollowedPart.objects.filter(**key).first() or FollowedPart(**key, end=0, gaps=[])
    before = Coverage(row.end, tuple((start, end) for start, end in row.gaps))
    numbers = range(header.first, header.first + len(header.lengths))
    found = accept(before, numbers.start, numbers.stop, numbers)
    row.end, row.gaps = found.coverage.end, [list(gap) for gap in found.coverage.gaps]
    row.save()
    return Fresh(
        numbers=[numbers[at] for at in found.keep],
        repeated=len(numbers) - len(found.keep),
        gaps=int(found.opened is not None),
        missing=found.coverage.missing() - before.missing(),
    )
