"""What else a run logs beside its loss: the changes that explain a shift, and the schedule.

A change of batch size, sequence length, data or learning rate moves the loss without anything
being wrong. This module keeps the last such changes and says how much of a shift they explain.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from apps.core.words import number
from apps.metrics.domain.changes import ANCHOR_ROWS, ANCHORS, ChangePolicy, Track, jump
from apps.metrics.domain.numerics import usable
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.domain.train_row import TrainRow

WORDS = {
    "lr": "learning rate",
    "batch_size": "batch size",
    "sequence_length": "sequence length",
    "data_mixture": "data mixture",
    "tokens_per_step": "tokens per step",
}
COUNTS = ("batch_size", "sequence_length", "tokens_per_step")
"""What a loss that is summed over its batch grows with."""

KEPT = 8
"""Changes that are remembered."""


@dataclass(frozen=True, slots=True)
class ContextPolicy:
    """When a series changed, and for how many rows its change may explain what follows.

    beyond: a schedule never passes its own peak by a quarter, a wrong factor does. peak_rows: rows
    without a new maximum after which the peak of the schedule is known. rewarmed: over the lowest
    rate since the peak. warm_up_rows: the warm-up of a run that logs no rate; else it lasts as long
    as the rate rises. *_reach_rows: a summed loss follows its batch at once, other data within the
    rows that a loader holds ready, a learning rate over a few times Adam's memory of 50 rows.

    Source: schedules of the public logs and own runs of the loss-spike study (warm-up is 2 % of
    their steps), Adam's 1 / (1 - beta2) for 0.98.
    """

    beyond: float = 1.25
    rewarmed: float = 1.3
    peak_rows: int = 30
    warm_up_rows: int = 200
    count_reach_rows: int = 20
    data_reach_rows: int = 60
    lr_reach_rows: int = 150


class Change(msgspec.Struct):
    """A series jumped at `step` (row `row` of the attempt). series: a key of WORDS.

    beyond: a learning rate above anything that the schedule had before.
    """

    series: str
    step: int
    row: int
    before: float
    after: float
    beyond: bool = False

    @property
    def text(self) -> str:
        """The change in words: "batch size 256 -> 512"."""
        return f"{WORDS[self.series]} {number(self.before)} -> {number(self.after)}"


class ContextState(msgspec.Struct):
    """tracks: series -> its last values. changes: newest last. peak: the highest learning rate;
    peak_age: rows since it was reached. known_peak: the peak of
    the schedule, once the rate has left it. lowest: the lowest rate since. lr: the newest rate."""

    tracks: dict[str, Track] = {}
    changes: list[Change] = []
    peak: float = 0.0
    peak_age: int = 0
    known_peak: float | None = None
    lowest: float | None = None
    lr: float | None = None
    tokens: float | None = None
    tokens_step: int = 0


class Context:
    """The schedule and the changes of one attempt; feed every row before its loss is judged."""

    __slots__ = ("_counts", "_policy", "_rates", "state")

    def __init__(
        self,
        policy: ContextPolicy,
        rates: ChangePolicy,
        counts: ChangePolicy,
        state: ContextState,
    ) -> None:
        self._policy, self._rates, self._counts = policy, rates, counts
        self.state = state

    def take(self, row: TrainRow, at: int) -> None:
        """Take the row number `at` of the attempt."""
        if row.lr is not None and usable(row.lr):
            self._rate(row.lr, row.step, at)
        if row.batch_size is not None:
            self._track("batch_size", row.batch_size, row.step, at)
        if row.sequence_length is not None:
            self._track("sequence_length", row.sequence_length, row.step, at)
        if row.data_mixture is not None:
            self._track("data_mixture", row.data_mixture, row.step, at)
        if row.tokens_seen is not None and usable(row.tokens_seen):
            self._tokens(row.tokens_seen, row.step, at)

    def start_attempt(self) -> None:
        """Rows are counted anew: changes of before have no row in this attempt."""
        self.state.changes = []
        self.state.tokens = None

    def newest(self, series: str, since_row: int) -> Change | None:
        """The last change of a series from a row on."""
        found = [c for c in self.state.changes if c.series == series and c.row >= since_row]
        return found[-1] if found else None

    def rate_beyond(self) -> bool:
        """Whether the learning rate stands above all that its schedule had."""
        state = self.state
        if state.lr is None or state.known_peak is None:
            return False
        return state.lr > self._policy.beyond * state.known_peak

    def warming_up(self, row: int) -> bool:
        """Whether the learning rate still rises to its peak, as far as one can know."""
        state = self.state
        if state.lr is None:
            return row < self._policy.warm_up_rows
        return state.known_peak is None

    def rewarmed(self) -> bool:
        """Whether the schedule has raised the learning rate again, to no more than its peak."""
        state = self.state
        if state.lr is None or state.lowest is None or self.rate_beyond():
            return False
        return state.lr > self._policy.rewarmed * state.lowest

    def decayed(self, share: float) -> bool:
        """Whether the learning rate has come down to less than a share of its peak."""
        state = self.state
        return state.lr is not None and state.lr < share * (state.known_peak or state.peak)

    def near(self, row: int) -> list[Change]:
        """The changes that may explain what began at a row, newest first."""
        policy = self._policy
        reach = {"lr": policy.lr_reach_rows, "data_mixture": policy.data_reach_rows}
        return [
            change
            for change in reversed(self.state.changes)
            if -2 <= row - change.row <= reach.get(change.series, policy.count_reach_rows)
        ]

    def drifted(self, row: int) -> list[Change]:
        """The series that have moved little by little over the last 300 rows, as one change each:
        a curriculum without stages, a batch or a sequence that grows with every row."""
        found = []
        for series, track in self.state.tracks.items():
            if series == "lr" or not track.anchors or track.last is None:
                continue
            before, after = track.anchors[0], track.last
            if abs(after - before) > (self._counts.ratio - 1) * max(abs(before), abs(after)):
                found.append(Change(series, 0, row, before, after))
        return found

    def _rate(self, lr: float, step: int, at: int) -> None:
        state, policy = self.state, self._policy
        before = jump(state.tracks.setdefault("lr", Track()), lr, self._rates)
        highest = max(state.peak, state.known_peak or 0.0)
        if before is not None:
            beyond = lr > policy.beyond * highest
            self._keep(Change("lr", step, at, before, lr, beyond))
            if beyond and state.known_peak is None:
                state.known_peak = state.peak
        state.lr = lr
        if lr > 1.001 * state.peak:
            state.peak, state.peak_age = lr, 0
        else:
            state.peak_age += 1
            if state.peak_age >= policy.peak_rows and state.known_peak is None and lr > 0:
                state.known_peak = state.peak
        self._note_lowest(lr)

    def _note_lowest(self, lr: float) -> None:
        state = self.state
        if state.known_peak is not None and (state.lowest is None or lr < state.lowest):
            state.lowest = lr

    def _tokens(self, tokens: float, step: int, at: int) -> None:
        state = self.state
        if state.tokens is not None and step > state.tokens_step:
            rate = (tokens - state.tokens) / (step - state.tokens_step)
            self._track("tokens_per_step", rate, step, at)
        state.tokens, state.tokens_step = tokens, step

    def _track(self, series: str, value: float, step: int, at: int) -> None:
        if not usable(value):
            return
        track = self.state.tracks.setdefault(series, Track())
        if at % ANCHOR_ROWS == 0:
            track.anchors = [*track.anchors[1 - ANCHORS :], value]
        if value == track.last and len(track.deltas) >= self._counts.history_rows:
            return
        before = jump(track, value, self._counts)
        if before is not None:
            self._keep(Change(series, step, at, before, value))

    def _keep(self, change: Change) -> None:
        self.state.changes.append(change)
        del self.state.changes[:-KEPT]


@dataclass(slots=True)
class Scene:
    """What a shift is judged by beside the loss. row: number of the row in its attempt.

    grad_ratio: how many times its usual value the gradient norm is, 0.0 if not known. resumed: the
    attempt continues another one.
    """

    context: Context
    planned: tuple[PlannedChange, ...]
    row: int = 0
    grad_ratio: float = 0.0
    resumed: bool = False
