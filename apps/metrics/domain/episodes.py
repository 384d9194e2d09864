"""One excursion of the loss: opened by a row outside its band, judged a few rows later."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from apps.metrics.domain.reference import Band
from apps.metrics.domain.rolling import median


@dataclass(frozen=True, slots=True)
class EpisodePolicy:
    """Thresholds of an excursion, in rows, robust standard deviations (z) and shares of the level.

    Rows count logged rows, so that a log with one line per ten steps behaves the same.
    Source: in 58 public logs the 10-row median of healthy training never left 2.7 z and the
    5-row median never 3.3 z, while persistent incidents start at 4.3 and 4.8; 318 of 320 healthy
    outliers last one or two rows.
    """

    open_z: float = 5.0
    open_excess: float = 0.03
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
    grace_rows: int = 30


# A loss that falls too fast (a repeated batch): far and for long, since losses fall by nature.
DROP = EpisodePolicy(
    open_z=6.0,
    open_excess=0.25,
    judge_row=9,
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

    def median(self, rows: int) -> float:
        """Median distance from the level over the last `rows` rows."""
        return median(self.recent[-rows:])

    def z(self, rows: int) -> float:
        """The same in robust standard deviations."""
        return self.median(rows) / self.scale

    def excess(self, rows: int) -> float:
        """The same as a share of the level."""
        return self.median(rows) / (abs(self.level) or self.scale)

    def peak_excess(self) -> float:
        """The largest distance as a share of the level."""
        return self.peak / (abs(self.level) or self.scale)


def out_of_band(distance: float, band: Band, policy: EpisodePolicy) -> bool:
    """Whether a distance from the level opens an episode (or counts as an outlying row of it)."""
    share = distance / (abs(band.level) or band.scale)
    return distance > policy.open_z * band.scale and share > policy.open_excess


def take(episode: Episode, step: int, value: float, policy: EpisodePolicy) -> None:
    """Count one more finite row into the episode."""
    distance = episode.direction * (value - episode.level)
    episode.row += 1
    episode.recent.append(distance)
    del episode.recent[:-10]
    if out_of_band(distance, Band(episode.level, episode.scale), policy):
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


def page_rule(episode: Episode, policy: EpisodePolicy) -> str:
    """The rule by which the episode needs a person now, "" if none holds."""
    if episode.row < max(policy.judge_row, episode.held_until_row) or healing(episode, policy):
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
    so long that it is the reference from now on.
    """
    paged = episode.page_step is not None
    short = not paged and episode.row >= 3 and episode.out_rows <= policy.outlier_rows
    if short and all(_calm(episode, distance, policy) for distance in episode.recent[-3:]):
        return "outlier"
    if len(episode.recent) == 10 and _back(episode, policy):
        return "recovered"
    if episode.row >= (policy.settle_rows if paged else policy.give_up_rows):
        return "settled"
    return ""


def _calm(episode: Episode, distance: float, policy: EpisodePolicy) -> bool:
    return distance < max(3 * episode.scale, policy.calm_excess * abs(episode.level))


def _back(episode: Episode, policy: EpisodePolicy) -> bool:
    calm_z, expected = policy.calm_z, 0.0
    if episode.page_step is not None:
        calm_z = policy.calm_z_paged
        expected = episode.descent_per_row * min(episode.row, policy.trend_rows)
    above = episode.median(10) - expected
    return above < max(calm_z * episode.scale, policy.calm_excess * abs(episode.level))
