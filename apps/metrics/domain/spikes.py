"""The loss detector of one attempt: rows in, findings out, with a bounded state that can be stored.

Causal: the verdict at a row uses rows up to it and nothing later. The tests are in their own
modules (episodes, slow, numerics, changes); this one feeds them in order and says what changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from apps.core.errors import AppError
from apps.core.records import Finding
from apps.metrics.domain import episodes, numerics, reports
from apps.metrics.domain.changes import ChangePolicy, LrState, lr_change
from apps.metrics.domain.episodes import DROP, Episode, EpisodePolicy
from apps.metrics.domain.gradients import GradientPolicy, GradientState, GradientTest
from apps.metrics.domain.numerics import NumericsPolicy, NumericsState
from apps.metrics.domain.reference import Band, Reference, ReferenceState
from apps.metrics.domain.reports import Change, Mark, RowMark
from apps.metrics.domain.slow import SlowPolicy, SlowState, SlowTest

STATE_VERSION = 1
TAIL_ROWS = 60
TRAIL_ROWS = 8


@dataclass(frozen=True, slots=True)
class TrainRow:
    """One logged row of the job. None: not logged. NaN and inf are data."""

    step: int
    time_ns: int
    loss: float | None = None
    grad_norm: float | None = None
    lr: float | None = None
    loss_scale: float | None = None


@dataclass(frozen=True, slots=True)
class SpikePolicy:
    """All thresholds. min_rows: rows before the first verdict. restart_rows: rows of an attempt in
    which an excursion counts as a restart transient and must last `EpisodePolicy.grace_rows`."""

    min_rows: int = 30
    drop_min_rows: int = 200
    restart_rows: int = 10
    walk_back_z: float = 3.0
    walk_back_excess: float = 0.015
    lr_rows: int = 20
    info_z: float = 8.0
    up: EpisodePolicy = field(default_factory=EpisodePolicy)
    down: EpisodePolicy = DROP
    slow: SlowPolicy = field(default_factory=SlowPolicy)
    gradient: GradientPolicy = field(default_factory=GradientPolicy)
    numerics: NumericsPolicy = field(default_factory=NumericsPolicy)
    lr: ChangePolicy = field(default_factory=ChangePolicy)


class SpikeState(msgspec.Struct):
    """Everything the detector knows. About 12 KB stored; never grows with the run.

    series: role -> series. naming, thresholds: the versions of what people said about these names
    and about thresholds.
    """

    version: int = STATE_VERSION
    attempt: int = 0
    series: dict[str, str] = {}
    naming: int = 0
    thresholds: int = 0
    rows: int = 0
    step: int | None = None
    late_rows: int = 0
    reference: ReferenceState = msgspec.field(default_factory=ReferenceState)
    slow: SlowState = msgspec.field(default_factory=SlowState)
    gradient: GradientState = msgspec.field(default_factory=GradientState)
    numerics: NumericsState = msgspec.field(default_factory=NumericsState)
    lr: LrState = msgspec.field(default_factory=LrState)
    lr_change: Change | None = None
    episode: Episode | None = None
    tail: list[float] = []
    trail: list[RowMark] = []
    marks: dict[str, Mark] = {}


class SpikeDetector:
    """Feed rows with rising steps; get the findings that opened, grew louder or closed.

    The same finding (same key) comes back whenever it changed; the newest one counts. A row whose
    step is not above the last one is counted in `late_rows` and otherwise ignored.
    About 10 microseconds a row.
    """

    def __init__(self, state: SpikeState | None = None, policy: SpikePolicy | None = None) -> None:
        self.policy = policy or SpikePolicy()
        self.state = state or SpikeState()
        self._reference = Reference(self.state.reference)
        self._slow = SlowTest(self.policy.slow, self.state.slow)
        self._gradient = GradientTest(self.policy.gradient, self.state.gradient)
        self._found: dict[str, Finding] = {}

    @classmethod
    def load(cls, data: bytes, policy: SpikePolicy | None = None) -> SpikeDetector:
        """The detector that `dump` stored. Raises AppError for another version or foreign bytes."""
        try:
            state = msgspec.msgpack.decode(data, type=SpikeState)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise AppError(
                "the stored detector state cannot be read",
                where=f"metrics detector: {error}",
            ) from error
        if state.version != STATE_VERSION:
            raise AppError(
                f"the stored detector state has version {state.version}, not {STATE_VERSION}",
                where="metrics detector",
            )
        return cls(state, policy)

    def dump(self) -> bytes:
        """The state as MessagePack."""
        self.state.reference = self._reference.state()
        self.state.slow = self._slow.dump()
        self.state.gradient = self._gradient.dump()
        return msgspec.msgpack.encode(self.state)

    def feed(self, rows: Iterable[TrainRow]) -> list[Finding]:
        """Take rows in step order; the findings that changed, by onset."""
        self._found = {}
        for row in rows:
            if self.state.step is not None and row.step <= self.state.step:
                self.state.late_rows += 1
                continue
            self._row(row)
        return sorted(self._found.values(), key=lambda f: (f.onset_step or 0, f.key))

    def open_findings(self) -> list[Finding]:
        """What was told and has not ended, as of the last row."""
        state, episode = self.state, self.state.episode
        here = reports.Here(state.attempt, state.series, state.step or 0, 0)
        found = [reports.marked(here, name, mark, None) for name, mark in state.marks.items()]
        if episode is not None:
            policy = self._rules(episode)
            if episode.page_step is not None or episode.out_rows > policy.outlier_rows:
                found.append(reports.episode(here, episode, policy, None))
        return found

    def start_attempt(self, attempt: int, series: dict[str, str]) -> None:
        """Keep the past as reference, forget what was open: the next row begins `attempt`."""
        state = self.state
        state.attempt, state.series = attempt, series
        state.rows, state.step, state.late_rows = 0, None, 0
        state.episode, state.lr_change = None, None
        state.numerics, state.marks, state.trail = NumericsState(), {}, []

    def _row(self, row: TrainRow) -> None:
        state = self.state
        state.rows += 1
        state.step = row.step
        self._learning_rate(row)
        numerics.take_flags(state.numerics, row.loss, row.grad_norm, row.loss_scale)
        lost = state.numerics.bad_loss[-1]
        if row.loss is not None and not lost:
            self._loss(row, row.loss)
        self._numerics(row)
        self._gradient_norm(row)

    def _learning_rate(self, row: TrainRow) -> None:
        if row.lr is None or not math.isfinite(row.lr):
            return
        before = lr_change(self.state.lr, row.lr, self.policy.lr)
        if before is not None:
            self.state.lr_change = Change(row.step, self.state.rows, before, row.lr)

    # -- loss -------------------------------------------------------------------------------

    def _loss(self, row: TrainRow, loss: float) -> None:
        state = self.state
        state.tail.append(loss)
        del state.tail[:-TAIL_ROWS]
        if state.episode is None or state.episode.page_step is None:
            self._slow_divergence(row, loss)
        if state.episode is None:
            self._inside(row, loss)
        if state.episode is not None:
            self._outside(row, loss, state.episode)

    def _inside(self, row: TrainRow, loss: float) -> None:
        band = self._reference.band(self.policy.min_rows)
        direction = self._direction(band, loss)
        if band is None or direction == 0:
            self._reference.push(loss)
        else:
            self.state.episode = self._open(row, band, direction)
        if band is not None:
            z, excess = band.z(loss), band.excess(loss)
            self.state.trail.append(RowMark(row.step, row.time_ns, z, excess))
            del self.state.trail[:-TRAIL_ROWS]

    def _direction(self, band: Band | None, loss: float) -> int:
        if band is None:
            return 0
        if episodes.out_of_band(loss - band.level, band, self.policy.up):
            return 1
        down = episodes.out_of_band(band.level - loss, band, self.policy.down)
        return -1 if down and self.state.rows > self.policy.drop_min_rows else 0

    def _open(self, row: TrainRow, band: Band, direction: int) -> Episode:
        onset = RowMark(row.step, row.time_ns, 0.0, 0.0)
        for mark in reversed(self.state.trail):
            z, excess = direction * mark.z, direction * mark.excess
            if z <= self.policy.walk_back_z or excess <= self.policy.walk_back_excess:
                break
            onset = mark
        restarting = self.state.attempt > 0 and self.state.rows <= self.policy.restart_rows
        return Episode(
            onset_step=onset.step,
            onset_time_ns=onset.time_ns,
            level=band.level,
            scale=band.scale,
            direction=direction,
            opened_row=self.state.rows,
            descent_per_row=self._reference.descent_per_row() if direction > 0 else 0.0,
            held_until_row=self.policy.up.grace_rows if restarting else 0,
            peak_step=row.step,
        )

    def _outside(self, row: TrainRow, loss: float, episode: Episode) -> None:
        policy = self._rules(episode)
        episodes.take(episode, row.step, loss, policy)
        before = (episode.page_step, episode.out_rows > policy.outlier_rows)
        if episode.page_step is None:
            episode.rule = episodes.page_rule(episode, policy)
            if episode.rule:
                episode.page_step, episode.page_time_ns = row.step, row.time_ns
                episode.page_value = loss
                episode.page_z, episode.page_excess = episode.z(5), episode.excess(5)
        episode.closed_by = episodes.close_rule(episode, policy)
        after = (episode.page_step, episode.out_rows > policy.outlier_rows)
        if episode.closed_by or after != before or episode.out_rows == policy.outlier_rows + 1:
            self._report_episode(row, episode, policy)
        if episode.closed_by:
            self._close(episode, policy)

    def _rules(self, episode: Episode) -> EpisodePolicy:
        return self.policy.up if episode.direction > 0 else self.policy.down

    def _report_episode(self, row: TrainRow, episode: Episode, policy: EpisodePolicy) -> None:
        loud = episode.peak / episode.scale > self.policy.info_z
        if episode.page_step is None and episode.out_rows <= policy.outlier_rows and not loud:
            return
        change = self._change_near(episode.opened_row)
        finding = reports.episode(self._here(row), episode, policy, change)
        self._found[finding.key] = finding

    def _change_near(self, row: int) -> Change | None:
        change = self.state.lr_change
        return change if change and change.row >= row - self.policy.lr_rows else None

    def _close(self, episode: Episode, policy: EpisodePolicy) -> None:
        """Let the past follow: healthy rows of a recovered episode, or the whole new level."""
        self.state.episode = None
        rows = self.state.tail[-len(episode.recent) :]
        if episode.closed_by == "settled":
            self._reference, rows = Reference(), self.state.tail
            self._slow = SlowTest(self.policy.slow)
            self.state.marks.pop("slow", None)
        band = Band(episode.level, episode.scale)
        for value in rows:
            distance = episode.direction * (value - episode.level)
            if episode.closed_by == "settled" or not episodes.out_of_band(distance, band, policy):
                self._reference.push(value)

    # -- the other tests --------------------------------------------------------------------

    def _slow_divergence(self, row: TrainRow, loss: float) -> None:
        holds = self._slow.feed(row.step, row.time_ns, loss)
        state = self._slow.state
        if holds and "slow" not in self.state.marks:
            mark = Mark(state.since_step, state.since_time_ns, "page")
            mark.before, mark.value = state.best, self._slow.median()
            self._mark("slow", row, mark)
        elif "slow" in self.state.marks and state.held == 0:
            self._end("slow", row)

    def _numerics(self, row: TrainRow) -> None:
        state, policy = self.state.numerics, self.policy.numerics
        started = self.state.rows > policy.start_rows
        loss = "page" if numerics.loss_lost(state, policy) else "warn"
        self._flagged("nonfinite", row, loss, state.bad_loss)
        flags = zip(state.bad_grad, state.bad_loss, strict=True)
        loud = "page" if started and numerics.gradients_lost(state, policy) else "info"
        self._flagged("grad_nonfinite", row, loud, [grad and not bad for grad, bad in flags])
        falling = started and numerics.scale_falling(state, policy)
        if falling and "loss_scale" not in self.state.marks:
            mark = Mark(row.step, row.time_ns, "page")
            mark.before, mark.value = max(state.scales), state.scales[-1]
            self._mark("loss_scale", row, mark)
        elif not falling and "loss_scale" in self.state.marks:
            self._end("loss_scale", row)

    def _flagged(self, name: str, row: TrainRow, severity: str, flags: list[bool]) -> None:
        """Open at the first bad row, grow louder when they repeat, close after calm rows."""
        mark = self.state.marks.get(name)
        if mark is None and flags[-1]:
            mark = Mark(row.step, row.time_ns, severity)
            mark.value = reports.fact(row.loss if name == "nonfinite" else row.grad_norm)
            self._mark(name, row, mark)
        elif mark is not None and flags[-1] and severity == "page" != mark.severity:
            mark.severity = severity
            self._mark(name, row, mark)
        elif mark is not None and numerics.calm(flags, self.policy.numerics):
            self._end(name, row)

    def _gradient_norm(self, row: TrainRow) -> None:
        if row.grad_norm is None or not math.isfinite(row.grad_norm):
            return
        policy, mark = self.policy.gradient, self.state.marks.get("gradient")
        usual, state = self._gradient.usual(), self._gradient.state
        ratio = self._gradient.feed(row.step, row.time_ns, row.grad_norm, frozen=mark is not None)
        if mark is None and ratio > policy.page_ratio and self._loss_has_no_say():
            mark = Mark(state.since_step, state.since_time_ns, "page")
            mark.before, mark.value = usual, row.grad_norm
            self._mark("gradient", row, mark)
        elif mark is not None and ratio < policy.calm_ratio:
            self._end("gradient", row)
        elif mark is not None and self.state.rows > mark.row + policy.settle_rows:
            del self.state.marks["gradient"]

    def _loss_has_no_say(self) -> bool:
        """False while a loss excursion is open: it is not judged yet, heals, or is told already."""
        return self.state.episode is None

    # -- findings ---------------------------------------------------------------------------

    def _here(self, row: TrainRow) -> reports.Here:
        state = self.state
        return reports.Here(state.attempt, state.series, row.step, row.time_ns)

    def _mark(self, name: str, row: TrainRow, mark: Mark) -> None:
        """Report a test that opened or grew louder at this row."""
        mark.row, mark.seen_step, mark.seen_time_ns = self.state.rows, row.step, row.time_ns
        self.state.marks[name] = mark
        self._report(name, row, mark)

    def _end(self, name: str, row: TrainRow) -> None:
        mark = self.state.marks.pop(name)
        mark.closed = True
        self._report(name, row, mark)

    def _report(self, name: str, row: TrainRow, mark: Mark) -> None:
        change = self._change_near(mark.row - self.policy.slow.window)
        finding = reports.marked(self._here(row), name, mark, change)
        self._found[finding.key] = finding
