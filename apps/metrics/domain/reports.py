"""What the loss detector says: findings with a title, evidence and facts a person can check."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from apps.core.plain import name_of
from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.words import number
from apps.metrics.domain.context import Change
from apps.metrics.domain.episodes import Episode, EpisodePolicy

DETECTOR = "metrics.spikes"
LATE = "late rows moved what was told of step {onset}"
GUESS = "guess"
"""Source of an explanation that nobody has said and no series shows: it is told as a warning."""
RENAMED = "{series} is no longer watched: another series counts now"
MOVED = "the thresholds of the project have changed since step {onset}"
"""Why a finding is taken back."""


@dataclass(frozen=True, slots=True)
class Here:
    """The row being judged. series: role -> name of the logged series."""

    attempt: int
    series: Mapping[str, str]
    step: int
    time_ns: int


class Mark(msgspec.Struct):
    """An open finding of a test without an episode: what it saw when it opened or grew louder.

    value, before: the values of then, as text where they are no numbers. row: of the attempt.
    planned: what explains it, in words.
    """

    step: int
    time_ns: int
    severity: str
    row: int = 0
    value: float | str | None = None
    before: float | str | None = None
    seen_step: int = 0
    seen_time_ns: int = 0
    closed: bool = False
    planned: str = ""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a test without an episode is told. role: which series it speaks of."""

    kind: str
    role: str
    text: str
    rule: str


WORDINGS = {
    "slow": Wording(
        "slow_divergence",
        "loss",
        "{series} creeps up, {before} -> {value}, since step {step}",
        "the median of 100 rows stays above the best earlier one",
    ),
    "nonfinite": Wording(
        "nonfinite", "loss", "{series} is {value} since step {step}", "2 of 3 losses are no numbers"
    ),
    "grad_nonfinite": Wording(
        "nonfinite",
        "grad_norm",
        "{series} is {value} at step {step}",
        "info for one row, page for 3 of 5",
    ),
    "gradient": Wording(
        "precursor",
        "grad_norm",
        "{series} rises from its usual {before} to {value} since step {step}",
        "the median of 5 rows is above 5 times the median of the 200 rows before",
    ),
    "missing_loss": Wording(
        "missing_loss",
        "loss",
        "{series} is missing since step {step}; the last one was {before}",
        "other values came at 3 times as many steps as a loss ever took",
    ),
    "plateau": Wording(
        "plateau",
        "loss",
        "{series} has stopped falling at {value}, seen at step {step}",
        "half of all steps gained less than 2 % of what the quarter before them gained",
    ),
    "loss_scale": Wording(
        "loss_scale_collapse",
        "loss_scale",
        "{series} falls {before} -> {value} at step {step}",
        "the loss scale lost a factor of 16 within 10 rows",
    ),
}


def fact(value: float | None) -> float | str | None:
    """A value JSON can carry: non-finite ones by name."""
    return value if value is None or math.isfinite(value) else name_of(value)


def episode(here: Here, state: Episode, policy: EpisodePolicy, change: Change | None) -> Finding:
    """The finding of an excursion of the loss in its present state."""
    kind, severity = _kind(state, policy)
    # A loss that stays wrong for long becomes the reference, but its story has no end.
    closed = bool(state.closed_by) and not (state.page_step and state.closed_by == "settled")
    series = here.series.get("loss", "loss")
    name = "spike" if state.direction > 0 else "drop"
    return Finding(
        key=f"{name}:a{here.attempt}:s{state.onset_step}",
        detector=DETECTOR,
        kind=kind,
        severity=severity,
        attempt=here.attempt,
        onset_step=state.onset_step,
        onset_time_ns=state.onset_time_ns,
        seen_step=here.step if state.page_step is None else state.page_step,
        seen_time_ns=state.page_time_ns or here.time_ns,
        title=_episode_title(kind, series, state, here),
        series=series,
        closed_step=here.step if closed else None,
        closed_time_ns=here.time_ns if closed else None,
        evidence=_episode_evidence(series, state)
        + _planned_evidence(state.planned)
        + _lr_evidence(here, change),
        facts=_episode_facts(state) | _planned_facts(state) | _lr_facts(change),
    )


def marked(here: Here, name: str, mark: Mark, change: Change | None) -> Finding:
    """The finding of a test without an episode."""
    words = WORDINGS[name]
    series = here.series.get(words.role, words.role)
    title = words.text.format(
        series=series, before=number(mark.before), value=number(mark.value), step=mark.step
    )
    return Finding(
        key=f"{name}:a{here.attempt}:s{mark.step}",
        detector=DETECTOR,
        kind=words.kind,
        severity=FindingSeverity(mark.severity),
        attempt=here.attempt,
        onset_step=mark.step,
        onset_time_ns=mark.time_ns,
        seen_step=mark.seen_step,
        seen_time_ns=mark.seen_time_ns,
        title=title,
        series=series,
        closed_step=here.step if mark.closed else None,
        closed_time_ns=here.time_ns if mark.closed else None,
        evidence=(
            Evidence(words.rule, step=mark.seen_step),
            *_planned_evidence(mark.planned),
            *_lr_evidence(here, change),
        ),
        facts={"rule": words.rule, "before": mark.before, "value": mark.value}
        | ({"planned": mark.planned} if mark.planned else {})
        | _lr_facts(change),
    )


def taken_back(told: Finding, newest: tuple[int, int] | None, why: str) -> Finding:
    """A finding that no longer holds: it is over and speaks for nothing.

    newest: (step, time_ns) of the newest row; None: of what the finding saw last.
    """
    step, time_ns = newest or (told.seen_step, told.seen_time_ns)
    text = why.format(onset=told.onset_step, series=told.series)
    return replace(
        told,
        severity=FindingSeverity.INFO,
        title=f"taken back: {text}",
        seen_step=step,
        seen_time_ns=time_ns,
        closed_step=step,
        closed_time_ns=time_ns,
        evidence=(Evidence(text, time_ns=time_ns, step=step, weight=-1),),
        suspects=(),
        facts={},
    )


def _planned_evidence(planned: str) -> tuple[Evidence, ...]:
    return (Evidence(f"explained by {planned}", weight=-1),) if planned else ()


def _planned_facts(state: Episode) -> dict[str, Any]:
    if not state.planned or state.page_step is not None:
        return {}
    if state.planned_source == GUESS:
        return {"guess": state.planned}
    return {"planned": state.planned, "planned_source": state.planned_source}


def _kind(state: Episode, policy: EpisodePolicy) -> tuple[str, FindingSeverity]:
    if state.page_step is None:
        if state.planned:
            guess = state.planned_source == GUESS
            return "level_shift", FindingSeverity.WARN if guess else FindingSeverity.INFO
        if state.direction < 0:
            return "loss_drop", FindingSeverity.INFO
        if state.closed_by == "settled":
            return "level_shift", FindingSeverity.INFO
        many = state.out_rows > policy.outlier_rows
        return "outlier", FindingSeverity.WARN if many else FindingSeverity.INFO
    if state.direction < 0:
        return "loss_drop", FindingSeverity.PAGE
    far = state.peak_excess() > policy.explosion_peak or state.excess(5) > policy.explosion_excess
    return "explosion" if far else "level_shift", FindingSeverity.PAGE


def _episode_title(kind: str, series: str, state: Episode, here: Here) -> str:
    peak = state.level + state.direction * state.peak
    moved = f"{number(state.level)} -> {number(peak)}"
    if kind == "explosion":
        return f"{series} {moved} at step {state.onset_step}"
    end = f", back by step {here.step}" if state.closed_by in ("recovered", "outlier") else ""
    if kind == "level_shift":
        if state.planned and state.page_step is None:
            return f"{series} goes {moved} at step {state.onset_step}: {state.planned}"
        share = 100 * (state.page_excess or state.excess(10))
        since = f"since step {state.onset_step} ({moved})"
        return f"{series} stays {share:.0f} % above its level {since}{end}"
    if kind == "loss_drop":
        return f"{series} drops {moved} at step {state.onset_step}, too fast to be learning"
    return f"{series} outlier {moved} at step {state.onset_step}{end}"


def _episode_evidence(series: str, state: Episode) -> tuple[Evidence, ...]:
    peak = state.level + state.direction * state.peak
    found = [
        Evidence(
            f"{series} left its band: level {number(state.level)}, one robust standard deviation "
            f"{number(state.scale)}",
            time_ns=state.onset_time_ns,
            step=state.onset_step,
        ),
        Evidence(f"furthest value {number(peak)}", step=state.peak_step, weight=0),
    ]
    if state.page_step is not None:
        z = number(state.page_z)
        text = f"{series} is {z} robust standard deviations from its level ({state.rule})"
        found.append(Evidence(text, time_ns=state.page_time_ns, step=state.page_step))
    elif state.closed_by in ("recovered", "outlier"):
        found.append(Evidence("the loss came back by itself", weight=-1))
    return tuple(found)


def _episode_facts(state: Episode) -> dict[str, Any]:
    peak = state.level + state.direction * state.peak
    return {
        "before": state.level,
        "scale": state.scale,
        "value": state.page_value if state.page_step is not None else peak,
        "peak": peak,
        "peak_step": state.peak_step,
        "excess_ratio": state.excess(10),
        "z": state.page_z if state.page_step is not None else state.peak / state.scale,
        "rule": state.rule or "single rows out of the band",
        "window_rows": 50,
        "out_rows": state.out_rows,
        "page_step": state.page_step,
        "closed_by": state.closed_by or None,
        "data_position": state.position,
    }


def _lr_evidence(here: Here, change: Change | None) -> tuple[Evidence, ...]:
    if change is None:
        return ()
    series = here.series.get("lr", "learning rate")
    text = f"{series} changed {number(change.before)} -> {number(change.after)} in one row"
    return (Evidence(text, step=change.step),)


def _lr_facts(change: Change | None) -> dict[str, Any]:
    if change is None:
        return {}
    return {
        "lr_before": change.before,
        "lr_after": change.after,
        "lr_change_step": change.step,
    }
