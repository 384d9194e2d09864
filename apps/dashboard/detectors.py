"""What the page of thresholds shows and reads from its form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from apps.core.errors import AppError
from apps.core.words import whole
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.store import IncidentQuery
from apps.metrics.domain.thresholds import Threshold, thresholds
from apps.metrics.domain.whatif import Change
from apps.metrics.replay import Replay
from apps.metrics.store import MovedThresholds
from apps.runs import store as runs

SHOWN_CHANGES = 200
NEAR_STEPS = 50


@dataclass(frozen=True, slots=True)
class Line:
    """One threshold. typed: what the field shows, "" for the default. moved: whether the project
    has another value now."""

    threshold: Threshold
    typed: str
    moved: bool

    @property
    def default(self) -> str:
        """The default as it is typed."""
        return _typed(self.threshold.default)

    @property
    def range(self) -> str:
        """The smallest and the largest value."""
        one = self.threshold
        return (
            f"{_typed(one.low)} to {_typed(one.high)}"
            if one.high < 1e6
            else f"from {_typed(one.low)}"
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Thresholds of one test."""

    name: str
    lines: Sequence[Line]

    @property
    def moved(self) -> int:
        """How many have another value than the default, or are typed."""
        return sum(line.moved or bool(line.typed) for line in self.lines)

    @property
    def source(self) -> str:
        """Where the defaults come from."""
        return self.lines[0].threshold.source


@dataclass(frozen=True, slots=True)
class Told:
    """One episode of a preview. incident: what it was when it happened, if it is known."""

    change: Change
    run_key: str
    incident: IncidentInfo | None


def groups(now: Mapping[str, float], typed: Mapping[str, str]) -> list[Group]:
    """All thresholds by test, in the order of the policy."""
    found: dict[str, list[Line]] = {}
    for slug, threshold in thresholds().items():
        line = Line(threshold, typed.get(slug, ""), slug in now)
        found.setdefault(threshold.group, []).append(line)
    return [Group(name, lines) for name, lines in found.items()]


def typed_of(values: Mapping[str, float]) -> dict[str, str]:
    """Stored values as the form shows them."""
    return {slug: _typed(value) for slug, value in values.items()}


def _typed(value: float) -> str:
    """A number without a power of ten."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:g}"


def typed_in(sent: QueryDict) -> dict[str, str]:
    """What was typed, also where it is nonsense."""
    return {slug: text[:40] for slug in thresholds() if (text := sent.get(f"t-{slug}", "").strip())}


def read_form(sent: QueryDict) -> MovedThresholds:
    """Numbers of the fields that are not empty; AppError names the field that is no number."""
    values = {slug: _number(slug, text) for slug, text in typed_in(sent).items()}
    return MovedThresholds(values, whole(sent.get("version", ""), 10**9) or 0)


def _number(slug: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise AppError(f'"{text}" is no number', where=slug, hint="such as 5 or 0.03") from None
    return int(value) if thresholds()[slug].whole and value.is_integer() else value


def told(replay: Replay) -> list[Told]:
    """The episodes of a preview, what differs first, with what they were when they happened."""
    shown = sorted(replay.changes, key=lambda change: change.how == "same")[:SHOWN_CHANGES]
    run_ids = {change.fired.run_id for change in shown}
    keys = runs.keys(run_ids)
    known = {
        run_id: incidents.list_incidents(IncidentQuery(run_id=run_id, limit=200))
        for run_id in run_ids
    }
    return [
        Told(change, keys[change.fired.run_id], _incident(known[change.fired.run_id], change))
        for change in shown
    ]


def _incident(known: Sequence[IncidentInfo], change: Change) -> IncidentInfo | None:
    fired = change.fired
    near = [
        (abs(one.onset_step - fired.onset_step), one)
        for one in known
        if one.attempt == fired.attempt and one.onset_step is not None
    ]
    off, best = min(near, key=lambda pair: pair[0], default=(NEAR_STEPS + 1, None))
    return best if off <= NEAR_STEPS else None
