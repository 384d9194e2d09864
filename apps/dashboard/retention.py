"""What the page of retention shows and reads: its form, its figure, its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import plotly.graph_objects as go
from django.http import QueryDict

from apps.checkpoints.domain.deletion import State
from apps.checkpoints.domain.retention import Decision, Rules
from apps.checkpoints.domain.storage_forecast import Day, Rhythm
from apps.checkpoints.retention import Outlook
from apps.checkpoints.retention_store import Deletion, SaidRules
from apps.core.errors import AppError
from apps.core.words import duration, whole
from apps.dashboard.plotting import dots, figure, line

HOUR_S = 3_600
FOLDED = 3
"""So many checkpoints in a row that are not kept are one line."""
COUNTS = ("last", "hourly", "daily", "weekly", "monthly", "yearly", "best", "min_kept")
STEPS = ("every_steps", "unit_steps")
DONE_SHOWN = 50
GROUP_SHOWN = 100
HOUR_NS = HOUR_S * 10**9
MIN_AGE_H = 0.1
"""What is younger stands at the edge: a log axis has no 0."""
AGES = ((0.1, "now"), (1, "1 h"), (6, "6 h"), (24, "1 d"), (72, "3 d"), (168, "1 w"),
        (720, "1 month"), (4_320, "6 months"), (8_760, "1 y"))  # fmt: skip
LOOKS = {
    "not kept": ("amber", "circle-open"),
    "kept": ("green", "circle"),
    "locked": ("blue", "square"),
}
HOURS = ("within", "dense")
"""Fields in hours: within_s, dense_s."""


@dataclass(frozen=True, slots=True)
class Row:
    """A checkpoint of the plan. deletion: None if none was ever planned."""

    decision: Decision
    deletion: Deletion | None

    @property
    def waits(self) -> bool:
        """Whether it waits for its deletion, which may be taken back."""
        return self.deletion is not None and self.deletion.state is State.WAITING

    @property
    def refused(self) -> bool:
        """Whether the storage said something else than the register."""
        return self.deletion is not None and self.deletion.state is State.REFUSED


@dataclass(frozen=True, slots=True)
class Group:
    """Checkpoints that stand next to each other in the plan and fare alike, newest first."""

    rows: tuple[Row, ...]

    @property
    def folded(self) -> bool:
        """Whether they are shown as one line that opens."""
        return len(self.rows) >= FOLDED

    @property
    def shown(self) -> tuple[Row, ...]:
        """The newest of them: a page is not endless."""
        return self.rows[:GROUP_SHOWN]

    @property
    def more(self) -> int:
        """How many are not shown."""
        return len(self.rows) - len(self.shown)

    @property
    def first(self) -> Row:
        """The newest of them."""
        return self.rows[0]

    @property
    def last(self) -> Row:
        """The oldest of them."""
        return self.rows[-1]

    @property
    def waiting(self) -> int:
        """How many wait for their deletion."""
        return sum(row.waits for row in self.rows)

    @property
    def due_ns(self) -> int:
        """When the first of those goes; 0 if none waits."""
        due = [row.deletion.due_ns for row in self.rows if row.deletion and row.waits]
        return min(due, default=0)

    @property
    def size_bytes(self) -> int:
        """Of all of them."""
        return sum(row.decision.held.size_bytes for row in self.rows)


def groups(found: Outlook) -> list[Group]:
    """The plan, newest checkpoint first; what is not kept and stands together is one group."""
    rows = [Row(one, found.deletions.get(one.held.key)) for one in found.plan.decisions]
    grouped: list[Group] = []
    for keep, together in groupby(rows, key=lambda row: row.decision.keep):
        members = tuple(together)
        grouped += [Group((row,)) for row in members] if keep else [Group(members)]
    return grouped


def done(found: Outlook) -> list[Deletion]:
    """Deletions that ended or go on, the last change first."""
    ended = [one for one in found.deletions.values() if one.state is not State.WAITING]
    return sorted(ended, key=lambda one: one.changed_at_ns, reverse=True)[:DONE_SHOWN]


def presets(rhythm: Rhythm | None) -> Mapping[str, Rules]:
    """Rules to begin with: name -> rules."""
    unit = rhythm.every_steps if rhythm else 0
    return {
        "exponential": Rules(dense_s=6.0 * HOUR_S, unit_steps=unit, min_kept=3),
        "calendar": Rules(last=3, hourly=24, daily=7, weekly=8, monthly=3, min_kept=3),
        "newest": Rules(last=10, min_kept=3),
    }


@dataclass(frozen=True, slots=True)
class Asked:
    """What the form says. seen_ns: of the rules that the person saw."""

    rules: Rules
    deletes: bool
    of_project: bool
    reason: str
    seen_ns: int

    def said(self) -> SaidRules:
        """The rules as they are set."""
        return SaidRules(self.rules, self.deletes, self.of_project)


def read_form(sent: QueryDict) -> Asked:
    """The form. AppError names the field that cannot be read."""
    values: dict[str, Any] = {name: _count(sent, name) for name in (*COUNTS, *STEPS)}
    values |= {f"{name}_s": _hours(sent, name) for name in HOURS}
    seen_ns = whole(sent.get("seen", "0"))
    if seen_ns is None:
        raise AppError("the form is damaged", where="seen", hint="open the page again")
    return Asked(
        rules=Rules(**values),
        deletes=sent.get("deletes") == "yes",
        of_project=sent.get("of_project") == "yes",
        reason=sent.get("reason", "")[:2_000],
        seen_ns=seen_ns,
    )


def _count(sent: QueryDict, name: str) -> int:
    text = sent.get(name, "").strip().replace(",", "") or "0"
    value = whole(text)
    if value is None:
        raise AppError(f'"{text[:40]}" is no number', where=name, hint="digits only, or empty")
    return value


def _hours(sent: QueryDict, name: str) -> float:
    text = sent.get(name, "").strip().replace(",", "") or "0"
    try:
        hours = float(text)
    except ValueError:
        hours = math.nan
    if not math.isfinite(hours) or hours < 0:
        raise AppError(f'"{text[:40]}" is no number of hours', where=name)
    return hours * HOUR_S


def form(rules: Rules) -> Mapping[str, Any]:
    """Field -> what stands in it, "" for a rule that is off."""
    values = {name: getattr(rules, name) or "" for name in (*COUNTS, *STEPS)}
    hours = {name: getattr(rules, f"{name}_s") / HOUR_S for name in HOURS}
    return {**values, **{name: f"{value:g}" if value else "" for name, value in hours.items()}}


def forecast_figure(days: Sequence[Day], free_bytes: int | None) -> str:
    """The storage of the next weeks as Plotly JSON: with the rules, if nothing is deleted, and
    where the storage is full."""
    x = [day.number for day in days]
    unit, size = ("TiB", 2**40) if days[-1].all_bytes >= 2**40 else ("GiB", 2**30)
    kept = [day.kept_bytes / size for day in days]
    everything = [day.all_bytes / size for day in days]
    hover = f"day %{{x}}: %{{y:,.3g}} {unit}"
    traces = [
        line("nothing deleted", x, everything, hue="vermillion", dash="dash", hover=hover),
        line("with these rules", x, kept, hue="blue", hover=hover),
    ]
    if free_bytes is not None:
        room = [(days[0].kept_bytes + free_bytes) / size] * len(x)
        traces.append(
            line("full", x, room, hue="critical", dash="dot", hover=f"%{{y:,.3g}} {unit}")
        )
    axes = go.Layout(
        xaxis={"title": {"text": "days from now"}, "range": [0, max(1, x[-1])]},
        yaxis={"title": {"text": unit}, "rangemode": "tozero"},
    )
    return figure(traces, axes)


def picture(found: Outlook, now_ns: int) -> str:
    """Each checkpoint by its age, as Plotly JSON: kept, locked, not kept."""
    kinds: dict[str, list[Decision]] = {"not kept": [], "kept": [], "locked": []}
    for one in found.plan.decisions:
        kinds["locked" if one.held.guards else "kept" if one.keep else "not kept"].append(one)
    traces = [
        dots(
            f"{name}: {len(members)}",
            [max(MIN_AGE_H, (now_ns - one.held.saved_at_ns) / HOUR_NS) for one in members],
            [f"step {one.held.step:,}<br>{one.reasons[0]}" for one in members],
            look=LOOKS[name],
        )
        for name, members in kinds.items()
    ]
    axes = go.Layout(
        xaxis={
            "title": {"text": "age"}, "type": "log", "autorange": "reversed",
            "tickvals": [hours for hours, _ in AGES], "ticktext": [text for _, text in AGES],
        },
        yaxis={"visible": False, "range": [-1, 1]},
    )  # fmt: skip
    return figure(traces, axes)


def caption(found: Outlook) -> str:
    """What the figure says, in a sentence."""
    if found.rhythm is None:
        return "How the run saves is not known yet: only what lies there now is shown."
    rhythm, last = found.rhythm, found.days[-1]
    if not last.number:
        return (
            f"The run saves every {duration(rhythm.every_s)}: more often in a day than is looked"
            " ahead, so only what lies there now is shown."
        )
    return (
        f"If the run goes on to save every {duration(rhythm.every_s)}: in {last.number} days"
        f" {last.kept} checkpoints lie there, the deleted ones of the last 24 hours among them"
    )
