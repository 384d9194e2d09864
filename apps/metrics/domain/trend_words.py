"""What is said of statistics of the model that have left their bands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.words import number
from apps.metrics.domain.bank import BankPolicy
from apps.metrics.domain.demands import Watched
from apps.metrics.domain.planned import PlannedChange, explaining
from apps.metrics.domain.reports import fact
from apps.metrics.domain.trends import NAME, Episode, Mark, first_of

DETECTOR = "metrics.layer_trend"
MAX_LISTED = 20
_POLICY = BankPolicy()
RULE = (
    f"{_POLICY.need} of {_POLICY.of} logged values beyond {_POLICY.z:g} robust standard deviations"
    " of the series' own past, which follows its schedule"
)


@dataclass(frozen=True, slots=True)
class Series:
    """A series by its key_id: its name and what it is."""

    name: str
    watched: Watched


@dataclass(frozen=True, slots=True)
class Case:
    """Where an episode was seen. series: those of its marks at least. watched: how many the bank
    looks at; left_out: how many are beyond its bound. planned: changes somebody wanted."""

    attempt: int
    series: Mapping[int, Series]
    watched: int
    left_out: int = 0
    planned: Sequence[PlannedChange] = ()


def severity_of(marks: Sequence[Mark], planned: Sequence[PlannedChange]) -> FindingSeverity:
    """A warning; information if a planned change explains where it began."""
    wanted = explaining(planned, first_of(marks).since_step)
    return FindingSeverity.WARN if wanted is None else FindingSeverity.INFO


def finding(case: Case, episode: Episode, marks: Sequence[Mark]) -> Finding:
    """The finding of an episode with at least one mark. Planned changes make it information."""
    first = first_of(marks)
    series = case.series[first.key_id]
    wanted = explaining(case.planned, first.since_step)
    title = f"{_headline(first, series)}{_others(marks)}"
    return Finding(
        key=f"trend:a{case.attempt}:s{episode.key_step}",
        detector=DETECTOR,
        kind=NAME,
        severity=severity_of(marks, case.planned),
        attempt=case.attempt,
        onset_step=first.since_step,
        onset_time_ns=first.since_ns,
        seen_step=episode.seen_step,
        seen_time_ns=episode.seen_ns,
        title=title if wanted is None else f"{title} (planned: {wanted.words})",
        series=series.name,
        closed_step=episode.closed_step,
        closed_time_ns=episode.closed_ns,
        evidence=tuple(_evidence(case, episode, marks)),
        facts={
            "before": fact(first.before),
            "value": fact(first.value),
            "z": fact(first.z),
            "statistic": series.watched.statistic,
            "layer": series.watched.place,
            "moved": len(marks),
            "watched": case.watched,
            "left_out": case.left_out,
            "movers": [_listed(case, mark) for mark in _ordered(marks)[:MAX_LISTED]],
            "rule": RULE,
            **({} if wanted is None else {"planned": wanted.words}),
        },
    )


def _ordered(marks: Sequence[Mark]) -> list[Mark]:
    return sorted(marks, key=lambda mark: (mark.since_step, -mark.z, mark.key_id))


def _headline(first: Mark, series: Series) -> str:
    moved = f"{number(first.before)} -> {number(first.value)}"
    if first.limit:
        limit = number(series.watched.demand.limit)
        return f"{series.watched.words} is above {limit} since step {first.since_step:,} ({moved})"
    return f"{series.watched.words} left its band at step {first.since_step:,} ({moved})"


def _others(marks: Sequence[Mark]) -> str:
    others = len({mark.key_id for mark in marks}) - 1
    return f"; {others} more series moved" if others else ""


def _evidence(case: Case, episode: Episode, marks: Sequence[Mark]) -> list[Evidence]:
    first = first_of(marks)
    series = case.series[first.key_id]
    where = f"{first.z:.1f} robust standard deviations" if first.z < 1e6 else "no number"
    text = f"{_headline(first, series)}: {'above its limit' if first.limit else where}"
    found = [Evidence(text, time_ns=first.since_ns, step=first.since_step)]
    if len(marks) > 1:
        text = f"moved so far: {_by_statistic(case, marks)} (of {case.watched} series watched)"
        found.append(Evidence(text, step=episode.seen_step, weight=0))
    if case.left_out:
        text = f"{case.left_out} more statistics are beyond the bound and not watched"
        found.append(Evidence(text, weight=0))
    if episode.closed_step is not None:
        found.append(Evidence(_ending(marks), step=episode.closed_step, weight=0))
    return found


def _by_statistic(case: Case, marks: Sequence[Mark]) -> str:
    names = {mark.key_id: case.series[mark.key_id].watched.statistic for mark in marks}
    counted = Counter(names.values()).most_common()
    return ", ".join(f"{statistic.replace('_', ' ')} in {count}" for statistic, count in counted)


def _ending(marks: Sequence[Mark]) -> str:
    stayed = sum(mark.ended == "settled" for mark in marks)
    if not stayed:
        return "every series is back in its band"
    return f"{stayed} of {len(marks)} stay where they went: usual from now on"


def _listed(case: Case, mark: Mark) -> dict[str, object]:
    series = case.series[mark.key_id]
    return {
        "series": series.name,
        "words": series.watched.words,
        "step": mark.since_step,
        "seen_step": mark.step,
        "before": fact(mark.before),
        "value": fact(mark.value),
        "z": fact(mark.z),
        "ended": mark.ended,
    }
