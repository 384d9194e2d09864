"""Which checkpoints of a run are worth their storage? Rules, reasons and a forecast. Pure.

Names and semantics of the counted rules are restic's (`forget --keep-last ...`): calendar buckets
in UTC, only buckets that hold a checkpoint count, the newest of each is kept, any rule suffices,
and the oldest of all is kept while a kind of bucket is not used up. Ages are counted from the
newest complete checkpoint: a run that stands still loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from apps.core.words import duration, many

NEVER_FEWER: Final = 2
"""The last complete checkpoints that no rule takes away: one may turn out to be broken."""
MAX_LEVEL: Final = 11
"""Levels of the ruler: 6 h x 2^11 is 17 months."""
_NS: Final = 1_000_000_000
_BUCKETS: Final[dict[str, Callable[[datetime], tuple[int, ...]]]] = {
    "hourly": lambda at: (at.year, at.month, at.day, at.hour),
    "daily": lambda at: (at.year, at.month, at.day),
    "weekly": lambda at: at.isocalendar()[:2],
    "monthly": lambda at: (at.year, at.month),
    "yearly": lambda at: (at.year,),
}

Key = tuple[int, int]
"""(attempt, step)"""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is kept; 0 and () switch a rule off, and with all of them off everything is kept.

    last, hourly ... yearly: how many, and how many buckets. within_s: everything this much older
    than the newest. every_steps: the first complete save of each stretch of so many steps of an
    attempt. best: so many with the best results of each evaluation; the best one stays anyhow.
    dense_s, unit_steps: the preset "exponential": save number i = step / unit_steps lives while
    its age is at most dense_s x 2^(trailing zero bits of i), so that the gaps grow with the age
    and a save that is due to stay is never dropped first. min_kept: complete ones at least.
    """

    last: int = 0
    hourly: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0
    within_s: float = 0.0
    every_steps: int = 0
    best: int = 0
    dense_s: float = 0.0
    unit_steps: int = 0
    min_kept: int = NEVER_FEWER

    @property
    def keep_all(self) -> bool:
        """Whether no rule is on, so that nothing may be deleted."""
        return not (self.by_age or self.best)

    @property
    def by_age(self) -> bool:
        """Whether a rule is on that keeps something of every run, evaluated or not."""
        buckets = any(getattr(self, kind) for kind in _BUCKETS)
        ruler = self.dense_s and self.unit_steps
        return bool(self.last or buckets or self.within_s or self.every_steps or ruler)


@dataclass(frozen=True, slots=True)
class Held:
    """A checkpoint that lies on the storage.

    placings: (place from 1 on, what was evaluated), only where it is among the first. guards: why
    it must stay whatever the rules say, in words: pins, tags, leases, incidents, orders.
    """

    attempt: int
    step: int
    saved_at_ns: int
    size_bytes: int
    complete: bool = True
    placings: tuple[tuple[int, str], ...] = ()
    guards: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """What names it in its run."""
        return self.attempt, self.step


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to one checkpoint. reasons: why it is kept; why not, if it is not."""

    held: Held
    keep: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions, newest checkpoint first."""

    decisions: tuple[Decision, ...] = ()

    @property
    def kept(self) -> tuple[Held, ...]:
        """What stays, newest first."""
        return tuple(one.held for one in self.decisions if one.keep)

    @property
    def dropped(self) -> tuple[Held, ...]:
        """What would go, newest first."""
        return tuple(one.held for one in self.decisions if not one.keep)

    @property
    def kept_bytes(self) -> int:
        """Bytes of what stays."""
        return sum(held.size_bytes for held in self.kept)

    @property
    def freed_bytes(self) -> int:
        """Bytes of what would go."""
        return sum(held.size_bytes for held in self.dropped)


@dataclass(slots=True)
class _Reasons:
    """Why each checkpoint is kept, in the order of the rules."""

    by_key: dict[Key, list[str]] = field(default_factory=dict)

    def add(self, held: Held, reason: str) -> None:
        self.by_key.setdefault(held.key, []).append(reason)

    def of(self, held: Held) -> tuple[str, ...]:
        return tuple(self.by_key.get(held.key, ()))


def plan(held: Collection[Held], rules: Rules, now_ns: int) -> Plan:
    """What the rules keep of the checkpoints of one run, and why.

    Never dropped: what is guarded, incomplete, from the future or the best of an evaluation, the
    last NEVER_FEWER complete ones, and the newest ones while fewer than min_kept would stay.
    Without any rule everything stays. O(n log n).
    """
    newest_first = sorted(held, key=_age_order, reverse=True)
    judged = [one for one in newest_first if one.complete and one.saved_at_ns <= now_ns]
    reasons = _Reasons()
    for one in newest_first:
        for words in (*one.guards, *_unjudged(one, now_ns)):
            reasons.add(one, words)
    for place, one in enumerate(judged[:NEVER_FEWER]):
        reasons.add(one, "the last complete one" if place == 0 else "the last but one")
    if rules.keep_all:
        for one in judged:
            reasons.add(one, "no rule is set")
    for rule in (_last, _buckets, _within, _stretches, _best, _ruler):
        for one, words in rule(judged, rules):
            reasons.add(one, words)
    _fill_up(judged, reasons, max(rules.min_kept, NEVER_FEWER))
    return Plan(tuple(_decision(one, reasons.of(one)) for one in newest_first))


def _age_order(held: Held) -> tuple[int, int, int]:
    return held.saved_at_ns, held.attempt, held.step


def _decision(held: Held, reasons: tuple[str, ...]) -> Decision:
    return Decision(held, bool(reasons), reasons or ("no rule keeps it",))


def _unjudged(held: Held, now_ns: int) -> Iterator[str]:
    if not held.complete:
        yield "not complete: no rule judges it"
    if held.saved_at_ns > now_ns:
        yield "its time lies in the future"


def _fill_up(judged: Sequence[Held], reasons: _Reasons, least: int) -> None:
    missing = least - sum(bool(reasons.of(one)) for one in judged)
    for one in [one for one in judged if not reasons.of(one)][: max(0, missing)]:
        reasons.add(one, f"fewer than {least} complete ones would stay")


def _last(judged: Sequence[Held], rules: Rules) -> Iterator[tuple[Held, str]]:
    for one in judged[: rules.last]:
        yield one, f"one of the last {rules.last}"


def _buckets(judged: Sequence[Held], rules: Rules) -> Iterator[tuple[Held, str]]:
    counts = {kind: getattr(rules, kind) for kind in _BUCKETS}
    if not any(counts.values()):
        return
    times = [datetime.fromtimestamp(one.saved_at_ns / _NS, UTC) for one in judged]
    for kind, bucket in _BUCKETS.items():
        left, last = counts[kind], None
        for place, (one, at) in enumerate(zip(judged, times, strict=True)):
            oldest = place == len(judged) - 1
            if left and (bucket(at) != last or oldest):
                left, new, last = left - 1, bucket(at) != last, bucket(at)
                yield one, f"{kind}: newest of its {_UNITS[kind]}" if new else f"{kind}: the oldest"


_UNITS: Final = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
}


def _within(judged: Sequence[Held], rules: Rules) -> Iterator[tuple[Held, str]]:
    if not rules.within_s:
        return
    for one in judged:
        if judged[0].saved_at_ns - one.saved_at_ns <= rules.within_s * _NS:
            yield one, f"within {duration(rules.within_s)} of the newest"


def _stretches(judged: Sequence[Held], rules: Rules) -> Iterator[tuple[Held, str]]:
    if rules.every_steps:
        for one in _first_of_each(judged, rules.every_steps):
            yield one, f"one every {rules.every_steps:,} steps"


def _first_of_each(judged: Sequence[Held], steps: int) -> list[Held]:
    """The lowest step of each stretch of `steps` steps of each attempt, newest first.

    A save that failed at a multiple is stood in for by the next one that did not.
    """
    first: dict[tuple[int, int], Held] = {}
    for one in judged:
        place = one.attempt, one.step // steps
        if place not in first or one.step < first[place].step:
            first[place] = one
    return [one for one in judged if first[one.attempt, one.step // steps] is one]


def _best(judged: Sequence[Held], rules: Rules) -> Iterator[tuple[Held, str]]:
    most = max(1, rules.best)
    for one in judged:
        for place, what in one.placings:
            if place <= most:
                yield one, f"the best of {what}" if place == 1 else f"number {place} of {what}"


def _ruler(judged: Sequence[Held], rules: Rules) -> Iterator[tuple[Held, str]]:
    if not rules.dense_s or not rules.unit_steps:
        return
    carriers = {one.key for one in _first_of_each(judged, rules.unit_steps)}
    for one in judged:
        life_s = rules.dense_s
        if one.key in carriers:
            life_s *= 2 ** ruler_level(one.step // rules.unit_steps)
        if judged[0].saved_at_ns - one.saved_at_ns <= life_s * _NS:
            yield one, f"exponential: lives {duration(life_s)}"


def placings(
    scored: Iterable[tuple[Key, str, float]], most: int
) -> dict[Key, tuple[tuple[int, str], ...]]:
    """(attempt, step) -> where it is among the first `most` of each evaluation.

    scored: what, and how good: the larger the better. Of equal ones the earlier comes first.
    """
    by_what: dict[str, list[tuple[float, Key]]] = {}
    for key, what, value in scored:
        by_what.setdefault(what, []).append((-value, key))
    found: dict[Key, tuple[tuple[int, str], ...]] = {}
    for what in sorted(by_what):
        for place, (_, key) in enumerate(sorted(by_what[what])[:most], start=1):
            found[key] = (*found.get(key, ()), (place, what))
    return found


def ruler_level(number: int) -> int:
    """How often 2 divides a save number, at most MAX_LEVEL; the highest level for number 0."""
    if number == 0:
        return MAX_LEVEL
    return min(MAX_LEVEL, (number & -number).bit_length() - 1)


def in_words(rules: Rules) -> tuple[str, ...]:
    """The rules that are on, one text each; () if everything is kept."""
    words = [f"the last {rules.last}"] if rules.last else []
    for kind, unit in _UNITS.items():
        if count := getattr(rules, kind):
            words.append(f"one an {unit}" if unit == "hour" else f"one a {unit}")
            words[-1] += f" for {many(count, unit)}"
    if rules.within_s:
        words.append(f"everything within {duration(rules.within_s)}")
    if rules.every_steps:
        words.append(f"one every {rules.every_steps:,} steps")
    if rules.best:
        words.append(f"the best {rules.best} of each evaluation")
    if rules.dense_s and rules.unit_steps:
        words.append(f"all of {duration(rules.dense_s)}, then ever fewer with their age")
    return tuple(words)
