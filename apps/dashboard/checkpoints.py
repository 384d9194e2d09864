"""What the pages of checkpoints show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.checkpoints import copies_store, marks, store, watching
from apps.checkpoints.domain.lifecycle import Worth
from apps.checkpoints.domain.saves import Training
from apps.checkpoints.domain.storageroom import Forecast, Rhythm
from apps.checkpoints.domain.storagewatch import Folder, Scene, outlook
from apps.checkpoints.records import CheckpointInfo, Copy, Protection
from apps.dashboard.evaluations import Beside, beside
from apps.ingest.wandb import artifacts_store
from apps.ingest.wandb.artifacts_store import ArtifactInfo
from apps.runs import store as runs
from apps.runs.records import RunInfo

PAGE: Final = 100
ENOUGH: Final = 2
"""Complete checkpoints below which the next fault may find none."""
_GONE: Final = frozenset((Worth.DELETED, Worth.LOST))
VIEWS: Final = {
    "there": "There",
    "complete": "Complete",
    "trouble": "In trouble",
    "kept": "Kept",
    "gone": "Gone",
    "all": "All",
}
"""What may be shown: address -> words. trouble: damaged, failed or lost."""
_TROUBLE: Final = frozenset((Worth.DAMAGED, Worth.FAILED, Worth.LOST))


@dataclass(frozen=True, slots=True)
class Row:
    """A checkpoint with all that is said of it elsewhere. scores: the first few."""

    info: CheckpointInfo
    copies: tuple[Copy, ...]
    marks: tuple[Protection, ...]
    logged: Sequence[ArtifactInfo]
    scores: Beside | None

    def in_view(self, view: str) -> bool:
        """Whether it is shown in one of VIEWS."""
        worth = self.info.worth
        return {
            "there": worth not in _GONE,
            "complete": worth is Worth.COMPLETE,
            "trouble": worth in _TROUBLE,
            "kept": bool(self.marks),
            "gone": worth in _GONE,
        }.get(view, True)


@dataclass(frozen=True, slots=True)
class Outlook:
    """One storage where the run saves. seen, saves: what the next save finds and needs, None while
    that is not known."""

    folder: Folder
    seen: Forecast | None
    saves: Rhythm | None


def outlooks(run: RunInfo, now_ns: int) -> list[Outlook]:
    """Free space now and at the next save, for each root that holds the newest checkpoint."""
    stored = watching.storage_of([run.id], now_ns).get(run.id)
    newest = runs.attempt(run.id, None)
    if stored is None or newest is None:
        return []
    event_ns = newest.last_ns or now_ns
    training = Training(
        newest.number, newest.first_step, newest.last_step, newest.started_ns, event_ns
    )
    scene = Scene(training, stored.held, stored.folders, now_ns)
    told = [(folder, outlook(scene, folder)) for folder in stored.folders]
    return [Outlook(folder, *(found or (None, None))) for folder, found in told]


@dataclass(frozen=True, slots=True)
class Shelf:
    """The checkpoints of a run. newest: the complete one that was saved last. present_bytes: of all
    that are there, once each. cut: there are older ones that are not read."""

    rows: tuple[Row, ...]
    counts: Mapping[str, int]
    newest: CheckpointInfo | None
    present_bytes: int
    cut: bool

    @property
    def evaluated(self) -> bool:
        """Whether any of them has a score."""
        return any(row.scores for row in self.rows)

    @property
    def few(self) -> bool:
        """Whether a run that saves has too few to go back to."""
        return bool(self.rows) and self.counts["complete"] < ENOUGH

    def page(self, view: str, number: int) -> tuple[Sequence[Row], int]:
        """(the rows of a page of a view, how many pages there are)."""
        shown = [row for row in self.rows if row.in_view(view)]
        pages = max(1, -(-len(shown) // PAGE))
        start = (min(max(number, 1), pages) - 1) * PAGE
        return shown[start : start + PAGE], pages


def shelf(run: RunInfo, now_ns: int) -> Shelf:
    """Everything the list shows, newest step first; a fixed number of statements."""
    found = store.outlines(run.id)
    copies, kept = copies_store.of_run(run.id, found), marks.protections(run.id, now_ns)
    logged, scores = artifacts_store.by_checkpoint(run.id), beside(run.id)
    rows = tuple(
        Row(
            info,
            copies[info.place],
            kept.get(info.place, ()),
            logged.get(info.place, []),
            scores.get(info.place),
        )
        for info in sorted(found, key=lambda info: (-info.step, -info.attempt))
    )
    complete = [row.info for row in rows if row.info.worth is Worth.COMPLETE]
    there = [row.info for row in rows if row.info.worth not in _GONE]
    return Shelf(
        rows=rows,
        counts=Counter(view for view in VIEWS for row in rows if row.in_view(view)),
        newest=max(complete, key=lambda info: info.saved_at_ns, default=None),
        present_bytes=sum(info.bytes for info in there),
        cut=len(found) == store.MAX_LISTED,
    )
