"""Patterns of a run: templates that belong together, who said them, and which of them are news.

Plain Python and NumPy, values in, values out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.logs.domain.pattern.mining import mine
from apps.logs.domain.pattern.tally import NEVER, NS_HOUR, Tally, fold
from apps.logs.domain.pattern.templates import OTHER

NS_MINUTE = 60_000_000_000
MAX_BUCKETS = 48
CONTINUED = 0.5
"""How much of its score a line keeps that only goes on from another: a frame, a ruler."""
OTHER_TEXT = "(lines of further templates, which are not told apart)"


class Since(StrEnum):
    """What the last good hour ends before."""

    INCIDENT = "incident"
    ERROR = "error"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class NewsPolicy:
    """How trouble is told from usual errors, and how far before it all was well.

    margin_ns: the good hour ends so long before the onset or the first error. A rank that stops
    without a word is noticed by the others when a collective times out, by default after ten
    minutes (torch.distributed, NCCL). apart_ns: errors of new kinds that lie further apart are
    different troubles. least_ns: less of a good hour than this compares nothing.
    """

    margin_ns: int = 10 * NS_MINUTE
    good_ns: int = NS_HOUR
    apart_ns: int = 30 * NS_MINUTE
    least_ns: int = 5 * NS_MINUTE


@dataclass(frozen=True, slots=True)
class GoodHour:
    """The last hour before things went wrong. from_ns, until_ns: what there is of it.

    since: what it ends before. enough: there is something to compare with.
    """

    from_ns: int
    until_ns: int
    since: Since
    enough: bool


def good_hour(
    began_ns: int,
    last_ns: int,
    *,
    onset_ns: int | None,
    error_ns: int | None,
    policy: NewsPolicy | None = None,
) -> GoodHour:
    """Which hour of an attempt was last good.

    began_ns, last_ns: of its first and newest line. onset_ns: of its incident; error_ns: of
    trouble_ns(); None if there is none. The earlier of both counts. Without either, the hour
    before the newest one.
    """
    limits = policy or NewsPolicy()
    wrong = min((t for t in (onset_ns, error_ns) if t is not None), default=None)
    if wrong is None:
        since, until = Since.NOW, last_ns - NS_HOUR
    else:
        since = Since.INCIDENT if wrong == onset_ns else Since.ERROR
        until = wrong - limits.margin_ns
    start = max(began_ns, until - limits.good_ns)
    return GoodHour(min(start, until), until, since, until - start >= limits.least_ns)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of templates from elsewhere.

    texts: template -> (masked text, example). ordinary: also said by attempts that ended well.
    earlier: also said by earlier attempts of the run.
    """

    texts: Mapping[int, tuple[str, str]]
    ordinary: Collection[int] = ()
    earlier: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """Templates that differ in names only, and their lines in the range asked for.

    text: with wildcards; example: a line. first_rank None: the first line has no rank.
    lead_ns: how long the first rank was alone; None if no other said it. ranks: bit r is rank r.
    unranked: lines without a rank. spark: lines a bucket (Spread.bucket_hours). ordinary: good runs
    say all of it too. new: nobody said it until the last good hour was over. score: how much it is
    worth a look, higher is more; only to be compared.
    """

    templates: tuple[int, ...]
    text: str
    example: str
    lines: int
    unranked: int
    worst: int
    first_ns: int
    first_rank: int | None
    node: str | None
    lead_ns: int | None
    last_ns: int
    ranks: int
    spark: tuple[int, ...]
    ordinary: bool
    new: bool
    score: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Time of the buckets of Pattern.spark: bucket i begins i * bucket_hours after from_ns."""

    from_ns: int
    bucket_hours: int
    buckets: int


def trouble_ns(
    counted: Tally, ordinary: Collection[int], policy: NewsPolicy | None = None
) -> int | None:
    """When errors of new kinds began to come, up to the newest line; None if they do not.

    Each kind of error counts when it was first said; those that attempts which ended well say too
    do not. From the newest line back: what lies within an hour of it, and then each that lies
    within apart_ns of the one behind it. Errors that the run went on after are no trouble now.
    """
    limits = policy or NewsPolicy()
    whole = fold([counted], whole=True).rows
    bad = whole["worst"] >= Severity.ERROR
    bad &= ~np.isin(whole["template"], np.array([*ordinary, OTHER], dtype=np.int64))
    began, most = int(whole["last_ns"].max()), NS_HOUR
    found = None
    for time_ns in sorted(whole["first_ns"][bad].tolist(), reverse=True):
        if began - time_ns > most:
            break
        found = began = time_ns
        most = limits.apart_ns
    return found


def spread_of(counted: Tally) -> Spread:
    """As many hours a bucket as keep the buckets below MAX_BUCKETS."""
    hours = counted.rows["hour"]
    first, last = int(hours.min()), int(hours.max())
    width = -(-(last - first + 1) // MAX_BUCKETS)
    return Spread(first * NS_HOUR, width, -(-(last - first + 1) // width))


def new_templates(counted: Tally, known: Known, good: GoodHour) -> set[int]:
    """Templates that nobody said until the good hour was over, here or in an earlier attempt.

    counted: the whole attempt. Those that good runs say too are not new. None is, if there is no
    good hour and no earlier attempt to compare with.
    """
    rows = fold([counted], whole=True).rows
    late = set(rows["template"][rows["first_ns"] > good.until_ns].tolist()) - {OTHER}
    compared = good.enough or bool(known.earlier)
    return late - set(known.ordinary) - set(known.earlier) if compared else set()


def patterns(counted: Tally, known: Known, new: Collection[int], world: int) -> list[Pattern]:
    """The patterns of what was counted, those with the most lines first.

    counted: by template and hour, not empty. new: of new_templates(). world: ranks of the attempt.
    Templates become one pattern only if they are of one level and equally new.
    Cost: about 20 us a template.
    """
    singles = fold([counted], whole=True)
    groups = _grouped(singles, known, new)
    number = {template: n for n, group in enumerate(groups) for template in group.templates}
    sparks = _sparks(counted, number, len(groups), spread_of(counted))
    together = fold([_renumbered(singles, number)], whole=True)
    judge = _Judge(known, new, world)
    found = [
        judge.pattern(group, _Row(together, n), tuple(sparks[n].tolist()))
        for n, group in enumerate(groups)
    ]
    return sorted(found, key=lambda one: (-one.lines, one.first_ns, one.templates))


@dataclass(frozen=True, slots=True)
class _Group:
    """Templates of one pattern, and its text."""

    templates: tuple[int, ...]
    text: str


def _grouped(singles: Tally, known: Known, new: Collection[int]) -> list[_Group]:
    """The templates in groups; mined in the order in which they were first said."""
    rows = singles.rows[np.lexsort((singles.rows["template"], singles.rows["first_ns"]))]
    kinds: dict[tuple[bool, int], list[int]] = {}
    for template, worst in zip(rows["template"].tolist(), rows["worst"].tolist(), strict=True):
        kinds.setdefault((template in new, worst), []).append(template)
    groups = []
    for templates in kinds.values():
        texts = [_text(known, template) for template in templates]
        for group in mine(texts):
            members = tuple(templates[n] for n in group.members)
            text = " ".join(group.words) if len(members) > 1 else texts[group.members[0]]
            groups.append(_Group(members, text))
    return groups


def _text(known: Known, template: int) -> str:
    if template == OTHER:
        return OTHER_TEXT
    return known.texts.get(template, (f"(text of template {template} is gone)", ""))[0]


def _renumbered(one: Tally, number: Mapping[int, int]) -> Tally:
    rows = one.rows.copy()
    rows["template"] = [number[template] for template in rows["template"].tolist()]
    return Tally(rows, one.sets, one.nodes)


def _sparks(
    counted: Tally, number: Mapping[int, int], groups: int, spread: Spread
) -> NDArray[np.int64]:
    """Lines by group and bucket: int64[groups, buckets]."""
    rows = counted.rows
    bucket = (rows["hour"].astype(np.int64) - spread.from_ns // NS_HOUR) // spread.bucket_hours
    group = np.array([number[template] for template in rows["template"].tolist()], dtype=np.int64)
    sparks = np.zeros((groups, spread.buckets), dtype=np.int64)
    np.add.at(sparks, (group, bucket), rows["lines"])
    return sparks


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a tally, with Python's numbers."""

    tally: Tally
    number: int

    def __getitem__(self, name: str) -> int:
        return int(self.tally.rows[name][self.number])

    @property
    def ranks(self) -> int:
        return self.tally.sets[self["ranks"]]

    @property
    def node(self) -> str | None:
        return self.tally.nodes[self["node"]] or None


@dataclass(frozen=True, slots=True)
class _Judge:
    """What patterns are judged by."""

    known: Known
    new: Collection[int]
    world: int

    def pattern(self, group: _Group, row: _Row, spark: tuple[int, ...]) -> Pattern:
        """One pattern, from the row of all its templates."""
        members, ranks = group.templates, row.ranks
        ordinary = all(template in self.known.ordinary for template in members)
        points = score(row["lines"], row["worst"], ranks.bit_count(), self.world)
        if _only_continues(_text(self.known, members[0])):
            points = round(points * CONTINUED, 3)
        return Pattern(
            templates=members,
            text=group.text,
            example=self.known.texts.get(members[0], ("", ""))[1],
            lines=row["lines"],
            unranked=row["unranked"],
            worst=row["worst"],
            first_ns=row["first_ns"],
            first_rank=row["first_rank"] if row["first_rank"] >= 0 else None,
            node=row.node,
            lead_ns=row["next_ns"] - row["first_ns"] if row["next_ns"] != NEVER else None,
            last_ns=row["last_ns"],
            ranks=ranks,
            spark=spark,
            ordinary=ordinary,
            new=members[0] in self.new,
            score=0.0 if ordinary else points,
        )


def _only_continues(text: str) -> bool:
    return text[:1] in (" ", "\t") or not any(char.isalpha() for char in text)


def score(lines: int, worst: int, ranks: int, world: int) -> float:
    """How much a pattern is worth a look: severity first, then rarity, then how few ranks say it.

    A cause is said by few and seldom; what all ranks say is how they die of it. Grows with worst,
    falls with lines and with ranks; 0 to 9.
    """
    severity = {Severity.WARNING: 2.0, Severity.ERROR: 4.0, Severity.CRITICAL: 5.0}
    weight = max((w for level, w in severity.items() if worst >= level), default=0.0)
    rarity = 2.0 / (1.0 + np.log10(max(lines, 1)))
    focus = 2.0 * (1.0 - min(max(ranks, 1) - 1, world) / max(world, 1))
    return round(weight + float(rarity) + focus, 3)


def news(found: Sequence[Pattern]) -> list[Pattern]:
    """The new patterns, those most worth a look first, of equals the earlier."""
    return sorted((one for one in found if one.new), key=lambda one: (-one.score, one.first_ns))
