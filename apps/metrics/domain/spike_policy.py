"""All thresholds of the loss detector."""

from __future__ import annotations

from dataclasses import dataclass, field

from apps.metrics.domain.changes import COUNTS, ChangePolicy
from apps.metrics.domain.context import ContextPolicy
from apps.metrics.domain.episodes import DROP, EpisodePolicy
from apps.metrics.domain.explain import ExplainPolicy
from apps.metrics.domain.gaps import GapPolicy
from apps.metrics.domain.gradients import GradientPolicy
from apps.metrics.domain.numerics import NumericsPolicy
from apps.metrics.domain.plateau import PlateauPolicy
from apps.metrics.domain.slow import SHORT, SlowPolicy


@dataclass(frozen=True, slots=True)
class SpikePolicy:
    """min_rows: rows before the first verdict. drop_min_rows: before the first one on a fall, since
    losses fall fast at first. restart_rows: rows of an attempt in which an excursion counts as a
    restart transient and must last `EpisodePolicy.grace_rows`. walk_back_*: the onset is the first
    row of those above it. lr_rows: how long before an excursion a change of the learning rate is
    told with it. info_z: from here on a single row is told.

    Source: loss-spike study (58 public logs, 580,000 rows): the first rows of a run, and the labels
    of single outliers, which are z > 8.
    """

    min_rows: int = 30
    drop_min_rows: int = 100
    restart_rows: int = 10
    walk_back_z: float = 3.0
    walk_back_excess: float = 0.015
    lr_rows: int = 20
    info_z: float = 8.0
    up: EpisodePolicy = field(default_factory=EpisodePolicy)
    down: EpisodePolicy = DROP
    slow: SlowPolicy = field(default_factory=SlowPolicy)
    slow_short: SlowPolicy = SHORT
    gradient: GradientPolicy = field(default_factory=GradientPolicy)
    numerics: NumericsPolicy = field(default_factory=NumericsPolicy)
    lr: ChangePolicy = field(default_factory=ChangePolicy)
    counts: ChangePolicy = COUNTS
    context: ContextPolicy = field(default_factory=ContextPolicy)
    explain: ExplainPolicy = field(default_factory=ExplainPolicy)
    gap: GapPolicy = field(default_factory=GapPolicy)
    plateau: PlateauPolicy = field(default_factory=PlateauPolicy)
