"""Where a line stands, and how far the clock that dated it was off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spot:
    """The place of a line. node: "" if unknown. rank: as the line or its file names it.

    skew_ns: how far the clock of its host was ahead of the job's; 0 if nobody knows.
    """

    node: str = ""
    source: str = ""
    seq: int = 0
    rank: int | None = None
    skew_ns: int = 0


NOWHERE = Spot()
