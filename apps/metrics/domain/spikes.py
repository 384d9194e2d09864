"""The loss detector of one attempt: rows in, findings out, with a bounded state that can be stored.

Causal: the verdict at a row uses rows up to it and nothing later. The tests are in their own
modules (excursions, slow, gradients, numerics, gaps, plateau); this one feeds them in order.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from apps.core.errors import AppError
from apps.core.records import Finding
from apps.metrics.domain import gaps, numerics, plateau, reports
from apps.metrics.domain.context import Context, ContextState, Scene
from apps.metrics.domain.excursions import Excursions, ExcursionState
from apps.metrics.domain.explain import Reason, Shift, gradient_reason, slow_reason
from apps.metrics.domain.gaps import GapState
from apps.metrics.domain.gradients import GradientState, GradientTest
from apps.metrics.domain.numerics import NumericsState
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.domain.plateau import PlateauState
from apps.metrics.domain.reports import Mark
from apps.metrics.domain.slow import SlowState, SlowTest
from apps.metrics.domain.spike_policy import SpikePolicy
from apps.metrics.domain.telling import Teller
from apps.metrics.domain.train_row import TrainRow

STATE_VERSION = 2


class SpikeState(msgspec.Struct):
    """Everything the detector knows. About 15 KB stored; never grows with the run.

    series: role -> series. naming, thresholds: the versions of what people said about these names
        and about thresholds. rows: of the attempt, with a loss or a gradient norm.
    """

    version: int = STATE_VERSION
    attempt: int = 0
    series: dict[str, str] = {}
    naming: int = 0
    thresholds: int = 0
    rows: int = 0
    step: int | None = None
    late_rows: int = 0
    context: ContextState = msgspec.field(default_factory=ContextState)
    excursion: ExcursionState = msgspec.field(default_factory=ExcursionState)
    slow: list[SlowState] = []
    gradient: GradientState = msgspec.field(default_factory=GradientState)
    numerics: NumericsState = msgspec.field(default_factory=NumericsState)
    gap: GapState = msgspec.field(default_factory=GapState)
    plateau: PlateauState = msgspec.field(default_factory=PlateauState)
    marks: dict[str, Mark] = {}


class SpikeDetector:
    """Feed rows with rising steps; get the findings that opened, grew louder or closed.

    The same finding (same key) comes back whenever it changed; the newest one counts. A row whose
    step is not above the last one is counted in `late_rows` and otherwise ignored. planned: what
    people and the configuration say; not part of the state. About 20 microseconds a row.
    """

    def __init__(
        self,
        state: SpikeState | None = None,
        policy: SpikePolicy | None = None,
        planned: Iterable[PlannedChange] = (),
    ) -> None:
        self.policy = policy = policy or SpikePolicy()
        self.state = state = state or SpikeState()
        self._teller = Teller(state.attempt, state.series, state.marks)
        self._scene = Scene(
            Context(policy.context, policy.lr, policy.counts, state.context), tuple(planned)
        )
        self._excursions = Excursions(policy, state.excursion, self._teller)
        self._gradient = GradientTest(policy.gradient, state.gradient)
        self._slow = self._slow_tests(state.slow)

    @classmethod
    def load(
        cls,
        data: bytes,
        policy: SpikePolicy | None = None,
        planned: Iterable[PlannedChange] = (),
    ) -> SpikeDetector:
        """The detector that `dump` stored. Raises AppError for another version or foreign bytes."""
        try:
            version = msgspec.msgpack.decode(data, type=_Versioned).version
            if version != STATE_VERSION:
                raise AppError(
                    f"the stored detector state has version {version}, not {STATE_VERSION}",
                    where="metrics detector",
                )
            state = msgspec.msgpack.decode(data, type=SpikeState)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise AppError(
                "the stored detector state cannot be read",
                where=f"metrics detector: {error}",
            ) from error
        return cls(state, policy, planned)

    def dump(self) -> bytes:
        """The state as MessagePack."""
        self.state.excursion = self._excursions.dump()
        self.state.slow = [test.dump() for test in self._slow]
        self.state.gradient = self._gradient.dump()
        return msgspec.msgpack.encode(self.state)

    def feed(self, rows: Iterable[TrainRow]) -> list[Finding]:
        """Take rows in step order; the findings that changed, by onset."""
        teller = self._teller
        teller.attempt, teller.series = self.state.attempt, self.state.series
        teller.found = {}
        for row in rows:
            if self.state.step is not None and row.step <= self.state.step:
                self.state.late_rows += 1
            else:
                self._row(row)
        return sorted(teller.found.values(), key=lambda f: (f.onset_step or 0, f.key))

    def open_findings(self) -> list[Finding]:
        """What was told and has not ended, as of the last row."""
        state = self.state
        here = reports.Here(state.attempt, state.series, state.step or 0, 0)
        marks = [reports.marked(here, name, mark, None) for name, mark in state.marks.items()]
        return marks + self._excursions.told(here)

    def start_attempt(self, attempt: int, series: dict[str, str]) -> None:
        """Keep the past as reference, forget what was open: the next row begins `attempt`."""
        state = self.state
        state.attempt, state.series = attempt, series
        state.rows, state.step, state.late_rows = 0, None, 0
        state.numerics, state.gap, state.plateau = NumericsState(), GapState(), PlateauState()
        state.marks.clear()
        for test in self._slow:
            test.start_attempt()
        self._scene.context.start_attempt()
        self._excursions.start_attempt()

    def _row(self, row: TrainRow) -> None:
        state = self.state
        state.step = row.step
        self._scene.context.take(row, state.rows + 1)
        if row.loss is None and row.grad_norm is None:
            self._missing_loss(row)
            self._loss_scale(row)
            return
        state.rows += 1
        self._teller.row = self._scene.row = state.rows
        self._scene.resumed = state.attempt > 0
        usable = numerics.take_flags(state.numerics, state.rows, row.loss, row.grad_norm)
        if row.loss is None:
            self._missing_loss(row)
        elif usable:
            self._loss(row, row.loss)
        self._nonfinite(row)
        self._loss_scale(row)
        if row.grad_norm is not None and numerics.usable(row.grad_norm):
            self._gradient_norm(row, row.grad_norm)

    # -- loss -------------------------------------------------------------------------------

    def _loss(self, row: TrainRow, loss: float) -> None:
        gaps.with_loss(self.state.gap, loss)
        if self._teller.marks:
            self._teller.end("missing_loss", row)
        if not self._excursions.paging():
            self._slow_divergence(row, loss)
        if self.state.excursion.episode is not None:
            self._scene.grad_ratio = self._gradient.now()
        self._excursions.take(row, loss, self._scene)
        if self._excursions.settled:
            self._slow = self._slow_tests([])
            self._teller.forget("slow")
            self.state.plateau = PlateauState(start_row=self.state.rows)
        self._plateau(row)

    def _slow_tests(self, states: list[SlowState]) -> list[SlowTest]:
        policies = (self.policy.slow, self.policy.slow_short)
        known = states or [SlowState() for _ in policies]
        return [SlowTest(one, state) for one, state in zip(policies, known, strict=True)]

    def _slow_divergence(self, row: TrainRow, loss: float) -> None:
        reach, urgent = self._excursions.reach(), self._scene.context.rate_beyond()
        at = (row.step, row.time_ns)
        held = [test for test in self._slow if test.feed(at, loss, reach, urgent=urgent)]
        mark = self._teller.marks.get("slow")
        if not held:
            if mark is not None and not any(test.state.held for test in self._slow):
                self._teller.end("slow", row)
            return
        if mark is not None and mark.severity == "page":
            return
        test = held[0]
        why = self._slow_reason(test)
        if mark is None or why is None:
            fresh = Mark(test.state.since_step, test.state.since_time_ns, "page")
            fresh = mark if mark is not None else fresh
            fresh.before, fresh.value = test.state.best, test.median()
            _explained(fresh, why)
            change = self._scene.context.newest("lr", self.state.rows - self.policy.slow.window)
            self._teller.open("slow", row, fresh, change)

    def _slow_reason(self, test: SlowTest) -> Reason | None:
        band, best, now = self._excursions.now(), test.state.best or 0.0, test.median()
        if band is None:
            return None
        shift = Shift(
            step=test.state.since_step,
            ratio=now / best if 1e9 * best > now > best > 0 else None,
            excess=(now - best) / band.reach,
            share=(now - best) / max(band.learnt, band.reach),
            growth=1.0,
        )
        return slow_reason(shift, self._scene, self.policy.explain)

    def _plateau(self, row: TrainRow) -> None:
        state, mark = self.state.plateau, self._teller.marks.get("plateau")
        if mark is None and self.state.rows - state.start_row < state.next_row:
            return
        now = self._excursions.now()
        if now is None or self.state.excursion.episode is not None:
            return
        if mark is not None:
            if isinstance(mark.value, float) and now.level < mark.value - now.scale:
                self._teller.end("plateau", row)
            return
        verdict = plateau.stopped(
            state, self.state.rows - state.start_row, now, self.policy.plateau
        )
        if verdict and not self._scene.context.decayed(self.policy.plateau.rate_share):
            mark = Mark(row.step, row.time_ns, "warn", value=now.level)
            self._teller.open("plateau", row, mark)

    def _missing_loss(self, row: TrainRow) -> None:
        state = self.state.gap
        missing = gaps.without_loss(state, row.step, row.time_ns, self.policy.gap)
        if missing and not {"missing_loss", "nonfinite"} & self._teller.marks.keys():
            mark = Mark(state.first_step, state.first_time_ns, "page")
            mark.before = state.last
            self._teller.open("missing_loss", row, mark)

    # -- the other series -------------------------------------------------------------------

    def _nonfinite(self, row: TrainRow) -> None:
        state, policy, at = self.state.numerics, self.policy.numerics, self.state.rows
        if not state.bad_loss and not state.bad_grad:
            return
        loss = "page" if numerics.loss_lost(state, at, policy) else "warn"
        self._flagged("nonfinite", row, loss, state.bad_loss)
        started = at > policy.start_rows
        loud = "page" if started and numerics.gradients_lost(state, at, policy) else "info"
        self._flagged("grad_nonfinite", row, loud, state.bad_grad_only)

    def _flagged(self, name: str, row: TrainRow, severity: str, bad: list[int]) -> None:
        """Open at the first bad row, grow louder when they repeat, close after calm rows."""
        mark, now_bad = self._teller.marks.get(name), self.state.rows in bad
        if mark is None and now_bad:
            mark = Mark(row.step, row.time_ns, severity)
            mark.value = reports.fact(row.loss if name == "nonfinite" else row.grad_norm)
            self._teller.open(name, row, mark)
        elif mark is not None and now_bad and severity == "page" != mark.severity:
            mark.severity = severity
            self._teller.open(name, row, mark)
        elif mark is not None and numerics.calm(bad, self.state.rows, self.policy.numerics):
            self._teller.end(name, row)

    def _loss_scale(self, row: TrainRow) -> None:
        state, policy = self.state.numerics, self.policy.numerics
        if row.loss_scale is None:
            return
        numerics.take_scale(state, row.loss_scale)
        falling = self.state.rows > policy.start_rows and numerics.scale_falling(state, policy)
        if not falling:
            self._teller.end("loss_scale", row)
        elif "loss_scale" not in self._teller.marks:
            mark = Mark(row.step, row.time_ns, "page")
            mark.before, mark.value = max(state.scales), state.scales[-1]
            self._teller.open("loss_scale", row, mark)

    def _gradient_norm(self, row: TrainRow, norm: float) -> None:
        policy, mark = self.policy.gradient, self._teller.marks.get("gradient")
        usual, state = self._gradient.usual(), self._gradient.state
        ratio = self._gradient.feed(row.step, row.time_ns, norm, frozen=mark is not None)
        if mark is None and self._gradient.loud(ratio) and self._loss_has_no_say():
            mark = Mark(state.since_step, state.since_time_ns, "page")
            mark.before, mark.value = usual, norm
            self._soften(mark, self._gradient.now())
            self._teller.open("gradient", row, mark)
        elif mark is not None and ratio < policy.calm_ratio:
            self._teller.end("gradient", row)
        elif mark is not None and self.state.rows > mark.row + policy.settle_rows:
            self._teller.forget("gradient")

    def _soften(self, mark: Mark, ratio: float) -> None:
        """A wanted change explains it; a loss of nearly nothing has nothing to lose."""
        _explained(mark, gradient_reason(ratio, self._scene, self.policy.explain))
        band = self._excursions.now()
        if mark.severity == "page" and band is not None and band.spent():
            mark.severity = "warn"

    def _loss_has_no_say(self) -> bool:
        """False while a loss excursion is open: it is not judged yet, heals, or is told already.
        A gradient that grows from row to row does not wait for it."""
        episode = self.state.excursion.episode
        return episode is None or (episode.page_step is None and self._gradient.growing())


class _Versioned(msgspec.Struct):
    version: int = 0


def _explained(mark: Mark, why: Reason | None) -> None:
    if why is None:
        mark.severity, mark.planned = "page", ""
    else:
        mark.severity, mark.planned = "info", why.text
