"""Which log lines are kept, by age and by size of a project. Plain Python.

Lines are cut from the old end of an attempt. Kept whatever the rule says: attempts with an open
incident, those that somebody pinned, and the one that a run is still writing to. By size the oldest
attempts go first, and last attempts of runs after all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DAY_NS = 86_400_000_000_000
ACTIVE_NS = 7 * DAY_NS
"""A run that was heard of so lately still writes its last attempt."""


@dataclass(frozen=True, slots=True)
class KeepRule:
    """How long and how much a project keeps. None: for ever, any size. bytes: packed."""

    days: int | None = None
    most_bytes: int | None = None

    def cutoff_ns(self, now_ns: int) -> int | None:
        """Lines before this time are old."""
        return None if self.days is None else now_ns - self.days * DAY_NS


@dataclass(frozen=True, slots=True)
class HeldLogs:
    """The lines of one attempt. size_bytes: packed.

    made_ns, heard_ns: when Lastgood first and last heard of the run. last: no attempt comes
    behind. old_lines, old_bytes: in chunks that end before the cutoff of the rule. kept: why
    they may not go ("open incident", "pinned"), "" = they may.
    """

    run_id: int
    attempt: int
    made_ns: int
    heard_ns: int
    last: bool
    last_ns: int
    lines: int
    size_bytes: int
    old_lines: int = 0
    old_bytes: int = 0
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """What to delete of one attempt: lines in chunks that end before before_ns, or the oldest
    chunks until free_bytes are free. lines, size_bytes: about how much that is."""

    run_id: int
    attempt: int
    why: str
    lines: int
    size_bytes: int
    before_ns: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Spared:
    """An attempt that the rule would cut, and why it stays."""

    run_id: int
    attempt: int
    why: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rule deletes now. over_bytes: what a project stays above its size after that."""

    cuts: tuple[Cut, ...] = ()
    spared: tuple[Spared, ...] = ()
    over_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        """Of all cuts, about."""
        return sum(cut.size_bytes for cut in self.cuts)

    @property
    def lines(self) -> int:
        """Of all cuts, about."""
        return sum(cut.lines for cut in self.cuts)

    @property
    def runs(self) -> int:
        """How many runs lose lines."""
        return len({cut.run_id for cut in self.cuts})

    @property
    def run_ids(self) -> set[int]:
        """All runs that are named."""
        return {cut.run_id for cut in self.cuts} | {one.run_id for one in self.spared}


def plan(held: Sequence[HeldLogs], rule: KeepRule, now_ns: int) -> Plan:
    """What to delete of the attempts of one project, oldest first.

    Lines from before the run was known here (somebody loaded an old log) age from then on.
    """
    by_age = [cut for one in _oldest_first(held) if (cut := _aged(one, rule, now_ns)) is not None]
    left = {(one.run_id, one.attempt): one.size_bytes for one in held}
    for cut in by_age:
        left[cut.run_id, cut.attempt] -= cut.size_bytes
    over = 0 if rule.most_bytes is None else max(0, sum(left.values()) - rule.most_bytes)
    by_size: list[Cut] = []
    spared: list[Spared] = []
    for one in _oldest_first(held):
        size = left[one.run_id, one.attempt]
        why = _why_kept(one, now_ns)
        if why and (one.old_bytes or (over and size)):
            spared.append(Spared(one.run_id, one.attempt, why, one.size_bytes))
        elif over and size:
            free = min(over, size)
            by_size.append(_sized(one, free))
            over -= free
    return Plan((*by_age, *by_size), tuple(spared), over)


def _oldest_first(held: Sequence[HeldLogs]) -> list[HeldLogs]:
    return sorted(held, key=lambda one: (one.last, one.last_ns, one.run_id, one.attempt))


def _why_kept(one: HeldLogs, now_ns: int) -> str:
    if not one.kept and one.last and one.heard_ns > now_ns - ACTIVE_NS:
        return "the run still writes it"
    return one.kept


def _aged(one: HeldLogs, rule: KeepRule, now_ns: int) -> Cut | None:
    cutoff = rule.cutoff_ns(now_ns)
    if cutoff is None or not one.old_bytes or one.made_ns > cutoff or _why_kept(one, now_ns):
        return None
    return Cut(
        one.run_id,
        one.attempt,
        f"older than {rule.days} days",
        one.old_lines,
        one.old_bytes,
        before_ns=cutoff,
    )


def _sized(one: HeldLogs, free_bytes: int) -> Cut:
    lines = one.lines * free_bytes // max(1, one.size_bytes)
    why = "the project is over its size"
    return Cut(one.run_id, one.attempt, why, lines, free_bytes, free_bytes=free_bytes)
