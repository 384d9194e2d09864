"""Excursions of the loss: rows leave the band, are judged, explained, told, and end."""

from __future__ import annotations

import msgspec

from apps.core.records import Finding
from apps.metrics.domain import episodes, explain, reports
from apps.metrics.domain.context import Scene
from apps.metrics.domain.episodes import Episode, EpisodePolicy
from apps.metrics.domain.explain import WARM_UP, Reason, Shift
from apps.metrics.domain.reference import Band, Reference, ReferenceState
from apps.metrics.domain.reports import Here
from apps.metrics.domain.spike_policy import SpikePolicy
from apps.metrics.domain.telling import Teller
from apps.metrics.domain.train_row import TrainRow

TAIL_ROWS = 60
TRAIL_ROWS = 8


class RowMark(msgspec.Struct):
    """Where a recent row stood in its band."""

    step: int
    time_ns: int
    z: float
    excess: float


class ExcursionState(msgspec.Struct):
    """tail: the last losses. trail: where the last rows stood in the band, as long
    as they were out of its inner part."""

    reference: ReferenceState = msgspec.field(default_factory=ReferenceState)
    episode: Episode | None = None
    tail: list[float] = []
    trail: list[RowMark] = []


class Excursions:
    """The excursion test of one loss series; feed every finite loss."""

    __slots__ = ("_policy", "_reference", "_teller", "settled", "state")

    def __init__(self, policy: SpikePolicy, state: ExcursionState, teller: Teller) -> None:
        self._policy, self.state, self._teller = policy, state, teller
        self._reference = Reference(state.reference)
        self.settled = False

    def dump(self) -> ExcursionState:
        """The state, to store."""
        self.state.reference = self._reference.state()
        return self.state

    def start_attempt(self) -> None:
        """Keep the past as reference, forget what was open."""
        self.state.episode, self.state.trail = None, []

    def paging(self) -> bool:
        """Whether an excursion that needs a person, or is a wanted shift, is open."""
        episode = self.state.episode
        return episode is not None and (episode.page_step is not None or bool(episode.planned))

    def now(self) -> Band | None:
        """The band as of now, None while it is not known."""
        return self._reference.band(self._policy.min_rows)

    def reach(self) -> float:
        """What there is to lose now; 0.0 while that is not known."""
        band = self.now()
        return band.reach if band else self._reference.reach()

    def take(self, row: TrainRow, loss: float, scene: Scene) -> None:
        """Judge a finite loss. `settled` then says whether a new level became the reference."""
        self.settled = False
        self.state.tail.append(loss)
        del self.state.tail[:-TAIL_ROWS]
        if self.state.episode is None:
            self._inside(row, loss, scene)
        if self.state.episode is not None:
            self._outside(row, loss, scene, self.state.episode)

    def _inside(self, row: TrainRow, loss: float, scene: Scene) -> None:
        band = self._reference.band(self._policy.min_rows)
        direction = self._direction(band, loss, scene)
        if band is None or direction == 0:
            self._reference.push(loss)
        else:
            self.state.episode = self._open(row, band, direction, scene)
        if band is None or abs(loss - band.level) <= self._policy.walk_back_z * band.scale:
            self.state.trail = []
            return
        mark = RowMark(row.step, row.time_ns, band.z(loss), band.excess(loss))
        self.state.trail = [*self.state.trail[1 - TRAIL_ROWS :], mark]

    def _direction(self, band: Band | None, loss: float, scene: Scene) -> int:
        if band is None:
            return 0
        if episodes.out_of_band(loss - band.level, band, self._policy.up):
            return 1
        if scene.row <= self._policy.drop_min_rows:
            return 0
        # A loss that returns to where it has been is no loss that is too good.
        usual = min(band.level, self._reference.lowest() + band.scale)
        return -1 if episodes.out_of_band(usual - loss, band, self._policy.down) else 0

    def _open(self, row: TrainRow, band: Band, direction: int, scene: Scene) -> Episode:
        onset, before = RowMark(row.step, row.time_ns, 0.0, 0.0), list[float]()
        for mark in reversed(self.state.trail):
            z, excess = direction * mark.z, direction * mark.excess
            if z <= self._policy.walk_back_z or excess <= self._policy.walk_back_excess:
                break
            onset = mark
            before.insert(0, z * band.scale)
        restarting = scene.resumed and scene.row <= self._policy.restart_rows
        return Episode(
            onset_step=onset.step,
            onset_time_ns=onset.time_ns,
            level=band.level,
            scale=band.scale,
            reach=band.reach,
            learnt=band.learnt,
            direction=direction,
            opened_row=scene.row,
            descent_per_row=self._reference.descent_per_row() if direction > 0 else 0.0,
            held_until_row=self._policy.up.grace_rows if restarting else 0,
            recent=before,
            peak_step=row.step,
            position=row.position(),
        )

    def _outside(self, row: TrainRow, loss: float, scene: Scene, episode: Episode) -> None:
        policy = self._rules(episode)
        episodes.take(episode, row.step, loss, policy)
        before = (episode.page_step, episode.planned, episode.out_rows > policy.outlier_rows)
        if episode.page_step is None:
            self._judge(row, loss, scene, episode)
        episode.closed_by = episodes.close_rule(episode, policy)
        after = (episode.page_step, episode.planned, episode.out_rows > policy.outlier_rows)
        if episode.closed_by or after != before:
            self._report(row, scene, episode, policy)
        if episode.closed_by:
            self._close(episode, policy)

    def _judge(self, row: TrainRow, loss: float, scene: Scene, episode: Episode) -> None:
        """Page, unless somebody wanted this."""
        urgent = episode.direction > 0 and scene.context.rate_beyond()
        rule = episodes.page_rule(episode, self._rules(episode), urgent=urgent)
        if not rule or episodes.as_planned(episode, self._rules(episode)):
            return
        why = self._reason(scene, episode)
        if why is not None:
            episode.planned, episode.planned_source = why.text, why.source
            episode.planned_unit = why.unit
            episode.planned_distance = episode.median(5)
            return
        episode.rule = rule
        episode.page_step, episode.page_time_ns = row.step, row.time_ns
        episode.page_value = loss
        episode.page_z, episode.page_excess = episode.z(5), episode.excess(5)

    def _reason(self, scene: Scene, episode: Episode) -> Reason | None:
        policy = self._policy.explain
        ratio, share = episode.ratio(3), episode.share(5)
        shift = Shift(
            step=episode.onset_step,
            ratio=ratio,
            excess=episode.excess(5),
            share=share,
            growth=episode.growth(),
            spread=episode.spread(),
            upwards=episode.direction > 0,
        )
        changes = scene.context.near(episode.opened_row)
        why = explain.reason(shift, changes, scene.planned, policy)
        if why is not None:
            return why
        factor = explain.factor_of_sum(shift, scene.grad_ratio, policy)
        if factor is not None and not scene.context.rate_beyond():
            text = f"it is {factor:g} times what it was, like a sum over a batch of another size"
            return Reason(text, reports.GUESS, unit=True)
        warming = episode.direction > 0 and scene.context.warming_up(scene.row)
        return WARM_UP if warming and share < policy.warm_up_share else None

    def _rules(self, episode: Episode) -> EpisodePolicy:
        return self._policy.up if episode.direction > 0 else self._policy.down

    def _report(self, row: TrainRow, scene: Scene, episode: Episode, policy: EpisodePolicy) -> None:
        loud = episode.peak / episode.scale > self._policy.info_z
        quiet = episode.page_step is None and not episode.planned
        if quiet and episode.out_rows <= policy.outlier_rows and not loud:
            return
        change = scene.context.newest("lr", episode.opened_row - self._policy.lr_rows)
        self._teller.add(reports.episode(self._teller.here(row), episode, policy, change))

    def told(self, here: Here) -> list[Finding]:
        """The finding of an excursion that was told and has not ended, as of the last row."""
        episode = self.state.episode
        if episode is None:
            return []
        policy = self._rules(episode)
        if not self.paging() and episode.out_rows <= policy.outlier_rows:
            return []
        return [reports.episode(here, episode, policy, None)]

    def _close(self, episode: Episode, policy: EpisodePolicy) -> None:
        """Let the past follow: healthy rows of a recovered episode, or the whole new level."""
        self.state.episode = None
        rows = self.state.tail[-len(episode.recent) :]
        if episode.closed_by == "settled":
            self._settle(episode)
            return
        for value in rows:
            distance = episode.direction * (value - episode.level)
            if not episodes.out_of_band(distance, episode.band(), policy):
                self._reference.push(value)
            elif episode.page_step is None:
                self._reference.note_outlier(value)

    def _settle(self, episode: Episode) -> None:
        """The new level is the reference from now on.

        A wanted shift moves the past along: by its factor where there is one, since noise grows
        with a sum, else by its distance. Any other new level is learnt from its own rows.
        """
        self.settled = True
        if episode.planned and episode.page_step is None:
            factor = episode.ratio(10)
            offset = episode.direction * episode.median(10) if factor is None else 0.0
            self._reference = self._reference.moved(
                factor or 1.0, offset, unit=episode.planned_unit
            )
            return
        self._reference = Reference.after(self._reference)
        for value in self.state.tail:
            self._reference.push(value)
