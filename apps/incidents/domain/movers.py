"""The series that left their bands around an incident, in the order in which they did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import Finding
from apps.incidents.domain.correlate import healed, loudness
from apps.incidents.domain.earliest import Move, spoken

LOSS_KINDS = frozenset({
    "explosion", "slow_divergence", "level_shift", "loss_drop", "nonfinite", "plateau", "outlier",
    "band_departure",
})  # fmt: skip
"""Findings about the loss itself: what a layer can be ahead of."""
MAX_KEPT = 200
SHOWN = 6
"""Movers a page lists before it folds the rest away."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """What leads are counted from: where the loss left its band, or else the incident's onset."""

    step: int
    time_ns: int
    loss: bool = False

    @property
    def words(self) -> str:
        """For sentences: "before the loss", "before the onset"."""
        return "loss" if self.loss else "onset"


@dataclass(frozen=True, slots=True)
class Mover:
    """A series that left its band at `step`.

    words: its name in words. layer: "layer 4", None for the whole job. statistic: "grad norm", ""
    if the name says none. rank: of a series of ranks, the one that left the band of the others.
    before, value: its level and its first value outside. z: robust standard deviations of that
    value. None stands for a value that is no number. lead_steps, lead_s: before the anchor,
    negative behind it.
    """

    series: str
    step: int
    time_ns: int
    words: str
    lead_steps: int
    lead_s: float
    layer: str | None = None
    statistic: str = ""
    rank: int | None = None
    before: float | None = None
    value: float | None = None
    z: float | None = None

    @property
    def late(self) -> bool:
        """Whether it moved behind the anchor: a consequence."""
        return self.lead_steps < 0

    @property
    def delay_steps(self) -> int:
        """How long behind the anchor it moved."""
        return -self.lead_steps


@dataclass(frozen=True, slots=True)
class Movers:
    """items: the first MAX_KEPT movers in order. moved: how many there were in all.

    anchor_step, anchor_ns: what leads are counted from; by_loss: whether that is where the loss
    left its band. looked_at: how many series were looked at; left_out: how many were too many.
    layered: whether the run logs statistics of layers.
    """

    items: tuple[Mover, ...]
    moved: int
    anchor_step: int
    anchor_ns: int
    by_loss: bool
    looked_at: int = 0
    left_out: int = 0
    layered: bool = False

    @property
    def ahead(self) -> tuple[Mover, ...]:
        """Those that moved before the anchor or with it."""
        return tuple(item for item in self.items if not item.late)

    @property
    def behind(self) -> tuple[Mover, ...]:
        """Those that moved after it."""
        return tuple(item for item in self.items if item.late)

    @property
    def kept(self) -> int:
        """How many are listed."""
        return len(self.items)

    @property
    def first_ones(self) -> tuple[Mover, ...]:
        """The first SHOWN, of those ahead of the loss where it is the loss they are ahead of."""
        return (self.ahead if self.by_loss else self.items)[:SHOWN]

    @property
    def other_ones(self) -> tuple[Mover, ...]:
        """Those that follow the first."""
        return (self.ahead if self.by_loss else self.items)[SHOWN:]

    @property
    def late_ones(self) -> tuple[Mover, ...]:
        """Those behind the loss; behind an onset without one they are part of the story."""
        return self.behind if self.by_loss else ()

    @property
    def longest(self) -> int:
        """The longest lead in steps, at least 1."""
        return max((item.lead_steps for item in self.items), default=1) or 1


@dataclass(frozen=True, slots=True)
class Looked:
    """How the search for movers went."""

    at: int
    left_out: int
    layered: bool


def anchor_of(findings: Sequence[Finding], onset: tuple[int | None, int]) -> Anchor | None:
    """Where the loss left its band by the earliest finding about it, else the onset (step, time_ns)
    of the incident; None if neither has a step."""
    told = [
        f
        for f in findings
        if f.kind in LOSS_KINDS and f.onset_step is not None and loudness(f.severity) > 0
    ]
    lasting = [f for f in told if not healed(f)] or told
    first = min(lasting, key=lambda f: (f.onset_step or 0, f.onset_time_ns), default=None)
    if first is not None and first.onset_step is not None:
        return Anchor(first.onset_step, first.onset_time_ns, loss=True)
    step, time_ns = onset
    return None if step is None else Anchor(step, time_ns)


def in_order(moves: Sequence[Move], anchor: Anchor, looked: Looked) -> Movers:
    """The moves as the list a page shows: by step; at the same step layers first, then the one that
    is farthest out."""
    ordered = sorted(moves, key=lambda m: (m.step, m.layer is None, -abs(m.z), m.series))
    return Movers(
        items=tuple(_mover(move, anchor) for move in ordered[:MAX_KEPT]),
        moved=len(ordered),
        anchor_step=anchor.step,
        anchor_ns=anchor.time_ns,
        by_loss=anchor.loss,
        looked_at=looked.at,
        left_out=looked.left_out,
        layered=looked.layered,
    )


def _mover(move: Move, anchor: Anchor) -> Mover:
    return Mover(
        series=move.series,
        step=move.step,
        time_ns=move.time_ns,
        words=spoken(move) or move.series,
        lead_steps=anchor.step - move.step,
        lead_s=(anchor.time_ns - move.time_ns) / 1e9,
        layer=move.layer,
        statistic=move.statistic,
        rank=move.rank,
        before=_number(move.before),
        value=_number(move.value),
        z=_number(move.z),
    )


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
