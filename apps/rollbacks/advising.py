"""How often should a run save: advice from what it measured and, over that, what somebody says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.checkpoints.domain import interval
from apps.checkpoints.domain.interval import Advice, Costs
from apps.core.errors import AppError
from apps.core.words import duration, many
from apps.rollbacks.planning import Measured, RunTime

HOUR_S: Final = 3_600.0
WEEK_H: Final = 168
PERCENT: Final = 100.0
MAX_VALUE: Final = 1e12
ASSUMED: Final = {"pause": 60.0, "persist": 0.0, "mtbf": 24.0, "restart": 15.0}
"""Where neither the run nor the person says: seconds, seconds, hours, minutes."""
UNITS: Final = {"pause": 1.0, "persist": 1.0, "mtbf": HOUR_S, "restart": 60.0, "interval": 60.0}
"""Field -> seconds in its unit."""


@dataclass(frozen=True, slots=True)
class Field:
    """One assumption. value: in its unit, as text. source: where it comes from."""

    name: str
    label: str
    value: str
    source: str

    @property
    def seconds(self) -> float:
        """The value; 0 for none. AppError if it is no number from 0 on."""
        return number_of(self.value, self.name) * UNITS[self.name]


@dataclass(frozen=True, slots=True)
class Adviser:
    """The advice for some costs, and what the run does now.

    now_s: its interval, None if unknown; now: the goodput of that. range_s: the best interval for
    the shortest and longest MTBF that the failures allow, None if they were not counted.
    """

    fields: tuple[Field, ...]
    costs: Costs
    advice: Advice
    now_s: float | None
    now: float | None
    range_s: tuple[float, float] | None
    best_steps: int | None
    gpu_hours_a_week: float | None

    @property
    def points(self) -> float | None:
        """What the best interval wins, in points of goodput."""
        return None if self.now is None else (self.advice.goodput - self.now) * PERCENT


def adviser(found: RunTime, sent: Mapping[str, str]) -> Adviser:
    """Advice from what was measured and, over that, what a person typed. AppError by field."""
    known = _known(found)
    fields = tuple(_field(name, label, known.get(name), sent) for name, label in _LABELS.items())
    value = {one.name: one.seconds for one in fields}
    if not value["mtbf"]:
        raise AppError("failures come some time apart", where="mtbf", hint="more than 0 hours")
    costs = Costs(value["pause"], value["mtbf"], value["restart"], value["persist"])
    advice = interval.advise(costs)
    now_s = value["interval"] or None
    now = interval.goodput(now_s, costs) if now_s else None
    measured = found.measured
    won = None if now is None or not measured.gpus else advice.goodput - now
    return Adviser(
        fields=fields,
        costs=costs,
        advice=advice,
        now_s=now_s,
        now=now,
        range_s=_range(found, costs, typed="mtbf" in sent and bool(sent["mtbf"])),
        best_steps=_steps(measured, advice.best_s),
        gpu_hours_a_week=None if won is None else won * (measured.gpus or 0) * WEEK_H,
    )


_LABELS: Final = {
    "pause": "Training stands still at a save, seconds",
    "persist": "Written in the background after that, seconds",
    "mtbf": "Between two failures, hours",
    "restart": "From a failure to the first new step, minutes",
    "interval": "Training between two saves now, minutes",
}


def _known(found: RunTime) -> dict[str, tuple[float, str]]:
    """Field -> (value in its unit, where it comes from)."""
    one = found.measured
    known: dict[str, tuple[float, str]] = {}
    if one.pause_s is not None:
        known["pause"] = one.pause_s, "measured at the steps around the last saves"
    elif one.save_s is not None:
        known["pause"] = one.save_s, "the announced save time: no step shows the pause"
    if one.persist_s is not None:
        known["persist"] = one.persist_s, "the announced save time without the pause"
    if found.failures is not None and found.failures.mean_s is not None:
        seen = found.failures
        words = f"{many(seen.count, 'restart')} in {duration(seen.observed_s)}"
        known["mtbf"] = found.failures.mean_s / HOUR_S, words
    elif one.gpus:
        rate = interval.PUBLISHED_GPU_HOURS_PER_FAILURE
        words = f"no failure yet: Llama 3 had one in {rate:,.0f} GPU-hours"
        known["mtbf"] = interval.scaled_mtbf_s(rate, one.gpus) / HOUR_S, words
    if one.restart_s is not None:
        known["restart"] = one.restart_s / 60, "the median of the last restarts"
    if one.every_s is not None:
        trained_s = max(0.0, one.every_s - (one.pause_s or 0.0))
        known["interval"] = trained_s / 60, "the last saves"
    return known


def _field(
    name: str, label: str, known: tuple[float, str] | None, sent: Mapping[str, str]
) -> Field:
    typed = sent.get(name, "").strip()
    if typed and typed != (typed_text(known[0]) if known else ""):
        return Field(name, label, typed, "typed")
    if known is not None:
        return Field(name, label, typed_text(known[0]), known[1])
    if name in ASSUMED:
        return Field(name, label, f"{ASSUMED[name]:g}", "assumed: nothing was measured")
    return Field(name, label, "", "not known")


def typed_text(value: float) -> str:
    """Four digits, as a person would type them: 50700, not 5.07e+04."""
    return f"{float(f'{value:.4g}'):.15g}"


def number_of(text: str, where: str) -> float:
    try:
        value = float(text.replace(",", "") or 0)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MAX_VALUE:
        raise AppError(f'"{text[:40]}" is no number from 0 on', where=where)
    return value


def _range(found: RunTime, costs: Costs, *, typed: bool) -> tuple[float, float] | None:
    seen = found.failures
    if seen is None or not seen.count or typed:
        return None
    ends = (
        Costs(costs.pause_s, mtbf_s, costs.restart_s, costs.persist_s)
        for mtbf_s in (seen.low_s, seen.high_s)
    )
    low, high = (interval.advise(one).best_s for one in ends)
    return low, high


def _steps(measured: Measured, best_s: float) -> int | None:
    if not measured.every_s or not measured.every_steps:
        return None
    trained_s = measured.every_s - (measured.pause_s or 0.0)
    return max(1, round(best_s * measured.every_steps / trained_s)) if trained_s > 0 else None
