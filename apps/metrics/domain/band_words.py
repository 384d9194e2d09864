"""A departure from the band of siblings as a finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.words import many, number
from apps.metrics.domain.planned import PlannedChange, explaining
from apps.metrics.domain.sibling import CELLS, Departure, first_step

DETECTOR = "metrics.siblings"
KIND = "band_departure"


def finding_of(
    one: Departure,
    place: tuple[int, int, int],
    times: Sequence[int],
    series: str,
    plans: Sequence[PlannedChange],
) -> Finding:
    """place: (attempt, steps of the schedule, references). times: of the newest row by cell."""
    attempt, total, references = place
    onset, seen = first_step(one.onset, total), first_step(one.seen + 1, total) - 1
    plan = explaining(plans, onset)
    end = None if one.end is None else first_step(one.end + 1, total) - 1
    others = many(references, "sibling")
    expected = f"{number(one.expected)} ± {number(one.width)}"
    return Finding(
        key=f"band:a{attempt}:s{onset}",
        detector=DETECTOR,
        kind=KIND,
        severity=FindingSeverity.INFO if plan else FindingSeverity.WARN,
        attempt=attempt,
        onset_step=onset,
        onset_time_ns=times[one.onset],
        seen_step=seen,
        seen_time_ns=times[one.seen],
        title=f"{series} leaves the band of {others} at step {onset:,}: {number(one.value)}, "
        f"expected {expected}",
        series=series,
        closed_step=end,
        closed_time_ns=None if one.end is None else times[one.end],
        evidence=(
            Evidence(
                f"at {100 * one.onset / CELLS:.0f} % of the schedule {others} and the distance "
                f"kept from them put it at {expected}",
                step=onset,
            ),
            Evidence("the median of 2 % of the schedule lies above the band", step=seen),
        ),
        facts=_facts(one, references) | ({"planned": plan.words} if plan else {}),
    )


def _facts(one: Departure, references: int) -> dict[str, Any]:
    return {
        "before": one.expected,
        "value": one.value,
        "width": one.width,
        "references": references,
        "schedule_ratio": one.onset / CELLS,
    }
