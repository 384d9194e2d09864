"""One excursion of the loss: opened by a row outside its band, judged a few rows later."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from apps.metrics.domain.reference import Band
from apps.metrics.domain.rolling import median


@dataclass(frozen=True, slots=True)
class EpisodePolicy:
    """Thresholds of an excursion, in rows, robust standard deviations (z) and shares of the level.

    Rows count logged rows, so that a log with one line per ten steps behaves the same.
    Source: in 58 public logs the 10-row median of healthy training never left 2.7 z and the
    5-row median never 3.3 z, while persistent incidents start at 4.3 and 4.8; 318 of 320 healthy
    outliers last one or two rows, one lasts three.

    So four rows out of the band (`fast_rows`) page, unless the last ones have lost half of the peak
    (`fast_share`): then the medians of five and ten rows decide. Three rows that each grow by
    `growth_ratio`, and two rows under a learning rate beyond its schedule (`urgent_rows`), page at
    once: bad batches do not grow, and healthy training has neither.
    """

    open_z: float = 5.0
    open_excess: float = 0.03
    fast_rows: int = 4
    fast_share: float = 0.5
    growth_ratio: float = 1.3
    growth_z: float = 3.0
    urgent_rows: int = 2
    judge_row: int = 5
    page_z: float = 4.5
    page_excess: float = 0.04
    page_z_long: float = 3.5
    page_excess_long: float = 0.03
    explosion_peak: float = 1.0
    explosion_excess: float = 0.4
    heal_share: float = 0.25
    heal_half_rows: float = 4.0
    heal_floor: float = 0.04
    calm_z: float = 2.0
    calm_z_paged: float = 1.0
    calm_excess: float = 0.01
    trend_rows: int = 100
    outlier_rows: int = 2
    give_up_rows: int = 60
    settle_rows: int = 1000
    planned_rows: int = 10
    planned_growth: float = 1.5
    grace_rows: int = 30


# A loss that falls too fast (a repeated batch): far and for long, since losses fall by nature.
DROP = EpisodePolicy(
    open_z=6.0,
    open_excess=0.25,
    judge_row=6,
    page_z=6.0,
    page_excess=0.4,
    page_z_long=6.0,
    page_excess_long=0.4,
)


class Episode(msgspec.Struct):
    """An excursion, as far as it has been seen. `row`: rows since the opening row.

    direction: 1 upwards, -1 downwards; distances from the level count in that direction.
    recent: the last ten distances. peak: the largest distance. out_rows: rows out of the opening
    band. opened_row: row of the attempt. page_*: where it was judged to need a person, else None.
    """

    onset_step: int
    onset_time_ns: int
    level: float
    scale: float
    direction: int = 1
    reach: float = 0.0
    learnt: float = 0.0
    opened_row: int = 0
    descent_per_row: float = 0.0
    held_until_row: int = 0
    row: int = -1
    out_rows: int = 0
    peak: float = 0.0
    peak_step: int = 0
    recent: list[float] = []
    rule: str = ""
    page_step: int | None = None
    page_time_ns: int | None = None
    page_value: float = 0.0
    page_z: float = 0.0
    page_excess: float = 0.0
    closed_by: str = ""
    planned: str = ""
    planned_source: str = ""
    planned_distance: float = 0.0
    planned_unit: bool = False
    position: dict[str, float] = {}

    def median(self, rows: int) -> float:
        """Median distance from the level over the last `rows` rows."""
        return median(self.recent[-rows:])

    def z(self, rows: int) -> float:
        """The same in robust standard deviations."""
        return self.median(rows) / self.scale

    def excess(self, rows: int) -> float:
        """The same as a share of what there is to lose."""
        return self.median(rows) / self.reach

    def share(self, rows: int) -> float:
        """The same as a share of all that was learnt, or of what there is to lose if that is more
        (a log that begins late saw little of the learning)."""
        return self.median(rows) / max(self.learnt, self.reach)

    def growth(self) -> float:
        """The last three distances over the first three of the last ten."""
        return self.median(3) / (median(self.recent[:3]) or self.scale)

    def spread(self) -> float:
        """The furthest of the last ten rows over the nearest; infinite if one is not out at all."""
        nearest = min(self.recent)
        return max(self.recent) / nearest if nearest > 0 else math.inf

    def ratio(self, rows: int) -> float | None:
        """New level over old, None if either is not above 0 or they are a billion apart."""
        now = self.level + self.direction * self.median(rows)
        ratio = now / self.level if self.level > 0 and now > 0 else 0.0
        return ratio if 1e-9 < ratio < 1e9 else None

    def peak_excess(self) -> float:
        """The largest distance as a share of what there is to lose."""
        return self.peak / self.reach

    def band(self) -> Band:
        """The band that the loss left."""
        return Band(self.level, self.scale, self.reach, self.learnt)


def out_of_band(distance: float, band: Band, policy: EpisodePolicy) -> bool:
    """Whether a distance from the level opens an episode (or counts as an outlying row of it)."""
    return distance > policy.open_z * band.scale and distance > policy.open_excess * band.reach


def take(episode: Episode, step: int, value: float, policy: EpisodePolicy) -> None:
    """Count one more finite row into the episode."""
    distance = episode.direction * (value - episode.level)
    episode.row += 1
    episode.recent.append(distance)
    del episode.recent[:-10]
    if out_of_band(distance, episode.band(), policy):
        episode.out_rows += 1
    if distance > episode.peak:
        episode.peak, episode.peak_step = distance, step


def healing(episode: Episode, policy: EpisodePolicy) -> bool:
    """Whether a large excursion is falling back by itself.

    The last three rows must have lost three quarters of the peak, and half of the rest every four
    rows from then on. A learning rate that is wrong keeps more than half of its peak for dozens
    of rows; a few bad batches under clipping lose nine tenths within three.
    """
    if episode.peak < 2 * policy.open_z * episode.scale:
        return False
    late = max(0, episode.row - policy.judge_row)
    allowed = max(policy.heal_floor, policy.heal_share * math.exp2(-late / policy.heal_half_rows))
    return episode.median(3) < allowed * episode.peak


def as_planned(episode: Episode, policy: EpisodePolicy) -> bool:
    """Whether a shift that was explained is still about what it was then."""
    if not episode.planned:
        return False
    return episode.median(5) <= policy.planned_growth * episode.planned_distance


def page_rule(episode: Episode, policy: EpisodePolicy, *, urgent: bool = False) -> str:
    """The rule by which the episode needs a person now, "" if none holds.

    urgent: the learning rate stands above all that its schedule had.
    """
    if episode.row < episode.held_until_row:
        return ""
    return _fast_rule(episode, policy, urgent) or _steady_rule(episode, policy)


def _fast_rule(episode: Episode, policy: EpisodePolicy, urgent: bool) -> str:
    last = episode.recent[-policy.fast_rows :]
    if episode.direction < 0 or last[-1] < policy.fast_share * episode.peak:
        return ""
    z = max(policy.open_z, policy.page_z)
    floor = max(z * episode.scale, policy.page_excess * episode.reach)
    if urgent and len(last) >= policy.urgent_rows and min(last[-policy.urgent_rows :]) > floor:
        return "2 rows under a learning rate beyond its schedule"
    if _growing(last[-3:], floor, episode, policy):
        return "3 rows that grow"
    long_enough = len(last) == policy.fast_rows and min(last) > floor
    return "4 rows" if long_enough and min(last[-2:]) > policy.fast_share * episode.peak else ""


def _growing(last: list[float], floor: float, episode: Episode, policy: EpisodePolicy) -> bool:
    if len(last) < 3 or last[0] < policy.growth_z * episode.scale or last[1] < floor:
        return False
    return all(b > policy.growth_ratio * a for a, b in pairwise(last)) and last[2] > 2 * floor


def _steady_rule(episode: Episode, policy: EpisodePolicy) -> str:
    if episode.row < policy.judge_row or healing(episode, policy):
        return ""
    if episode.z(5) > policy.page_z and episode.excess(5) > policy.page_excess:
        return "median of 5 rows"
    long_enough = len(episode.recent) == 10
    if long_enough and episode.z(10) > policy.page_z_long:
        return "median of 10 rows" if episode.excess(10) > policy.page_excess_long else ""
    return ""


def close_rule(episode: Episode, policy: EpisodePolicy) -> str:
    """Why the episode is over now, "" while it lasts.

    "outlier": one or two rows, then three inside. "recovered": the 10-row median is back within
    the band, which goes on falling at the pace it had before: a run that has lost 15 % and learns
    on reaches its old loss some day without having recovered. "settled": the new level has lasted
    so long that it is the reference from now on; a wanted one is after `planned_rows`.
    """
    paged = episode.page_step is not None
    short = not paged and episode.row >= 3 and episode.out_rows <= policy.outlier_rows
    if short and all(_calm(episode, distance, policy) for distance in episode.recent[-3:]):
        return "outlier"
    if len(episode.recent) == 10 and _back(episode, policy):
        return "recovered"
    if episode.planned and not paged:
        return "settled" if episode.row >= policy.planned_rows else ""
    if episode.row >= (policy.settle_rows if paged else policy.give_up_rows):
        return "settled"
    return ""


def _calm(episode: Episode, distance: float, policy: EpisodePolicy) -> bool:
    return distance < max(3 * episode.scale, policy.calm_excess * episode.reach)


def _back(episode: Episode, policy: EpisodePolicy) -> bool:
    calm_z, expected = policy.calm_z, 0.0
    if episode.page_step is not None:
        calm_z = policy.calm_z_paged
        expected = episode.descent_per_row * min(episode.row, policy.trend_rows)
    above = episode.median(10) - expected
    return above < max(calm_z * episode.scale, policy.calm_excess * episode.reach)
