"""What other thresholds would have paged, beside what the present ones do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apps.core.records import Finding

NEAR_STEPS = 50
"""Two policies place the onset of one episode at most so far apart, if they do not overlap."""


@dataclass(frozen=True, slots=True)
class Fired:
    """An episode that paged: the findings of one attempt that overlap, told as the first of them.

    last_step: where the last of them ended; None: it has not.
    """

    run_id: int
    attempt: int
    kind: str
    title: str
    onset_step: int
    onset_time_ns: int
    seen_step: int
    last_step: int | None

    def overlaps(self, other: Fired) -> bool:
        """Whether both speak of the same time of the same attempt."""
        if (self.run_id, self.attempt) != (other.run_id, other.attempt):
            return False
        first, second = sorted((self, other), key=lambda one: one.onset_step)
        return first.last_step is None or second.onset_step <= first.last_step + NEAR_STEPS


@dataclass(frozen=True, slots=True)
class Change:
    """before: what the present thresholds page; after: what the others do. One may be None."""

    before: Fired | None
    after: Fired | None

    @property
    def how(self) -> str:
        """gained, lost or same."""
        if self.before is None:
            return "gained"
        return "same" if self.after is not None else "lost"

    @property
    def fired(self) -> Fired:
        """The episode."""
        found = self.after or self.before
        assert found is not None  # noqa: S101 - one of them is there
        return found

    @property
    def later_steps(self) -> int:
        """How many steps later the other thresholds page; 0 where there is nothing to compare."""
        if self.before is None or self.after is None:
            return 0
        return self.after.seen_step - self.before.seen_step


def episodes(run_id: int, attempt: int, found: Iterable[Finding]) -> list[Fired]:
    """The paging findings of one attempt, by onset; those that overlap are one episode."""
    grouped: list[Fired] = []
    for finding in sorted(found, key=lambda f: (f.onset_step or 0, f.key)):
        if not finding.page or finding.onset_step is None:
            continue
        one = _fired(run_id, attempt, finding)
        if grouped and grouped[-1].overlaps(one):
            grouped[-1] = _joined(grouped[-1], one)
        else:
            grouped.append(one)
    return grouped


def _fired(run_id: int, attempt: int, finding: Finding) -> Fired:
    onset = finding.onset_step or 0
    return Fired(
        run_id=run_id,
        attempt=attempt,
        kind=finding.kind,
        title=finding.title,
        onset_step=onset,
        onset_time_ns=finding.onset_time_ns,
        seen_step=onset if finding.seen_step is None else finding.seen_step,
        last_step=finding.closed_step,
    )


def _joined(group: Fired, one: Fired) -> Fired:
    ends = (group.last_step, one.last_step)
    last = None if None in ends else max(end for end in ends if end is not None)
    return replace(group, seen_step=min(group.seen_step, one.seen_step), last_step=last)


def compare(before: Sequence[Fired], after: Sequence[Fired]) -> list[Change]:
    """Which episodes both page, which only one of them; newest onset first.

    Each episode is paired at most once, with the overlapping one whose onset is nearest.
    """
    pairs = sorted(
        (abs(a.onset_step - b.onset_step), i, j)
        for i, a in enumerate(before)
        for j, b in enumerate(after)
        if a.overlaps(b)
    )
    of_before: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in pairs:
        if i not in of_before and j not in taken:
            of_before[i] = j
            taken.add(j)
    found = [
        Change(one, after[of_before[i]] if i in of_before else None) for i, one in enumerate(before)
    ]
    found += [Change(None, one) for j, one in enumerate(after) if j not in taken]
    return sorted(found, key=lambda change: -change.fired.onset_time_ns)
