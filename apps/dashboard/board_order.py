"""In which order the list of runs is read, page by page. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.core.words import whole

CRITICAL, SILENT, WARNING, RUNNING, ENDED, SETTLED = 0, 1, 2, 3, 4, 9
"""The most urgent first. SETTLED: runs that nobody watches any more, by age."""
_OF_STATE = {"failed": SILENT, "no_contact": SILENT, "running": RUNNING, "waiting": RUNNING}
SHOWN = {
    "": "All",
    "attention": "Needs attention",
    "running": "Running",
    "orphans": "Orphans",
    "ended": "Ended",
}
"""What a list may be narrowed to -> its words."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is in the order; smaller is earlier."""

    urgency: int
    run_id: int

    @property
    def key(self) -> tuple[int, int]:
        """Newest first among the equally urgent."""
        return self.urgency, -self.run_id

    def __str__(self) -> str:
        return f"{self.urgency}-{self.run_id}"


def read_place(text: str) -> Place | None:
    """A place as an address says it; None for anything else."""
    urgency, _, run_id = text.partition("-")
    first, second = whole(urgency, 9), whole(run_id)
    return None if first is None or second is None else Place(first, second)


def urgency(state: str, page: bool | None) -> int:
    """page: whether an incident that is not over wakes people; None: it has no incident."""
    if page:
        return CRITICAL
    of_state = _OF_STATE.get(state, ENDED)
    return min(of_state, WARNING) if page is not None else of_state


def ordered(standing: Mapping[int, int], after: Place | None) -> list[Place]:
    """Places of runs (id -> urgency) behind one of them, most urgent first."""
    places = (Place(level, run_id) for run_id, level in standing.items())
    return sorted(
        (place for place in places if after is None or place.key > after.key), key=lambda p: p.key
    )


def narrowed(standing: Mapping[int, int], orphans: Iterable[int], shown: str) -> dict[int, int]:
    """Those that a list of this name shows; a name that is none shows all."""
    if shown == "orphans":
        return {run_id: standing[run_id] for run_id in orphans if run_id in standing}
    wanted: Mapping[str, Sequence[int]] = {
        "attention": (CRITICAL, SILENT, WARNING),
        "running": (RUNNING,),
        "ended": (ENDED,),
    }
    levels = wanted.get(shown)
    return {r: level for r, level in standing.items() if levels is None or level in levels}
