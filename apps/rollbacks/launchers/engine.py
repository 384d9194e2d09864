"""Carries hand-overs out, step by step, so that a killed worker neither loses nor doubles one.

A step is committed as begun before its launcher is asked to do it. Whoever finds a step begun asks
first whether it has happened. Claims outlive every command that a killed worker may have left
running (`commands.LIMIT_S`), so that the answer to this question is final.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import Final

from apps.accounts.records import SYSTEM
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.rollbacks import excluding, services
from apps.rollbacks import store as orders
from apps.rollbacks.domain.handover import (
    Errand,
    HandoverState,
    Look,
    Move,
    Outcome,
    Seen,
    Step,
    StepState,
    Word,
    known,
    next_move,
    too_long,
)
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.launchers import commands, handing, store
from apps.rollbacks.launchers.protocol import Launcher, Made
from apps.rollbacks.launchers.store import HandoverInfo

LEASE_NS: Final = (2 * commands.LIMIT_S + 10) * 1_000_000_000
"""Longer than any command; the claim is renewed before each step and after each command."""
ROUND_S: Final = 15.0
"""So long one hand-over waits for a cluster before it lets others have the worker."""
TURN_S: Final = 120.0
"""No further hand-over is begun with after so long: messages need the worker, too."""
AGAIN_NS: Final = 5_000_000_000
_ENDED: Final = frozenset({OrderState.CANCELLED, OrderState.SUPERSEDED, OrderState.FAILED})
_FOLLOWED: Final = frozenset({OrderState.RESUMED, OrderState.RECOVERED})
_OUT_OF_SERVICE: Final = frozenset({"drain", "cordon"})
"""Steps that take hosts out of service for everybody."""
log = logging.getLogger(__name__)


def run_due() -> int:
    """Opens hand-overs of orders whose launcher follows by itself, then carries out what is due.

    How many were worked on. One that breaks keeps no other from its turn.
    """
    handing.open_due(now_ns())
    end_s, worked = time.monotonic() + TURN_S, 0
    for run_id, order_id in store.due(now_ns()):
        if time.monotonic() > end_s:
            break
        worked += 1
        try:
            carry_out(run_id, order_id)
        except Exception:
            log.exception("handover.broke", extra={"run": run_id, "order": order_id})
            store.put_off(run_id, order_id, now_ns() + 12 * AGAIN_NS, "an error of Lastgood itself")
    return worked


def carry_out(run_id: int, order_id: int) -> None:
    """Takes a hand-over as far as it gets within ROUND_S; nothing if somebody else is on it."""
    now = now_ns()
    claimed = store.claim(run_id, order_id, now, now + LEASE_NS)
    if claimed is not None:
        _Round(claimed).run()


class _Lost(Exception):
    """Somebody else has the claim."""


class _Round:
    """One worker's turn at one hand-over."""

    def __init__(self, claimed: HandoverInfo) -> None:
        self._run, self._order = claimed.run_id, claimed.order_id
        self._until_ns = claimed.claimed_until_ns
        self._handover = claimed
        self._step = ""
        self._end_s = time.monotonic() + ROUND_S

    def run(self) -> None:
        """Until it is done, put off or over."""
        try:
            launcher = handing.launcher(self._handover, self._note)
            errand = handing.errand(self._run, self._order)
            while self._one(launcher, errand):
                self._keep()
        except AppError as error:
            self._over(HandoverState.FAILED, str(error))
        except _Lost:
            log.warning("handover.lost", extra={"run": self._run, "order": self._order})

    def _one(self, launcher: Launcher, errand: Errand) -> bool:
        """One move; False if there is no next one in this round."""
        steps = store.steps(self._run, self._order)
        if self._no_longer_wanted(steps):
            return False
        move, step = next_move(steps)
        errand = replace(errand, facts=known(steps))
        if step is None:
            self._finish(launcher, errand)
            return False
        self._step = step.effect.key
        if move is Move.LOOK:
            look = launcher.look(step.effect.key, errand, step.before)
            if look.seen is not Seen.NO:
                return self._saw(step, look)
        return self._do(launcher, errand, step)

    def _saw(self, step: Step, look: Look) -> bool:
        if look.seen is Seen.YES:
            store.done(self._run, self._order, step.effect.key, look.facts, now_ns())
            return True
        if look.seen is Seen.LATER and not too_long(step, now_ns()):
            return self._later(step, Outcome(Word.LATER, text=look.text, wait_s=2.0))
        self._over(HandoverState.UNSURE, f"{step.effect.words}: {look.text}")
        return False

    def _do(self, launcher: Launcher, errand: Errand, step: Step) -> bool:
        key = step.effect.key
        store.begin(self._run, self._order, key, launcher.before(key, errand), now_ns())
        self._keep()
        outcome = launcher.start(key, errand)
        if outcome.word is Word.DONE:
            store.done(self._run, self._order, key, outcome.facts, now_ns())
            if key in _OUT_OF_SERVICE:
                excluding.taken_out(self._run, self._order, step.effect.words, now_ns())
            return True
        if outcome.word is Word.FAILED or too_long(step, now_ns()):
            self._over(HandoverState.FAILED, f"{step.effect.words}: {outcome.text}")
            return False
        return self._later(step, outcome)

    def _later(self, step: Step, outcome: Outcome) -> bool:
        """Waits here if it is not long, else lets others have the worker."""
        if time.monotonic() + outcome.wait_s < self._end_s:
            time.sleep(outcome.wait_s)
            return True
        wait_ns = max(AGAIN_NS, int(outcome.wait_s * 1e9))
        text = f"{step.effect.words}: {outcome.text}"
        store.put_off(self._run, self._order, now_ns() + wait_ns, text)
        return False

    def _no_longer_wanted(self, steps: list[Step]) -> bool:
        """Ends a hand-over whose order needs none any more."""
        order = orders.get(self._run, self._order)
        state = order.state if order else OrderState.CANCELLED
        if state in _ENDED:
            self._over(HandoverState.STOPPED, f"the order is {state.value}")
        elif state in _FOLLOWED:
            self._over(HandoverState.DONE, "the run already follows the order")
        elif order and order.launch and all(step.state is StepState.PLANNED for step in steps):
            self._over(HandoverState.STOPPED, f"the order was taken on by {order.launch}")
        else:
            return False
        return True

    def _finish(self, launcher: Launcher, errand: Errand) -> None:
        launch = launcher.launch(errand)
        try:
            services.acknowledge(self._run, self._order, launch, SYSTEM)
        except AppError as error:
            self._over(HandoverState.DONE, str(error), launch)
        else:
            self._over(HandoverState.DONE, "", launch)

    def _over(self, state: HandoverState, text: str, launch: str = "") -> None:
        handing.end(self._handover, state, text, launch)

    def _note(self, made: Made) -> None:
        store.note_call(self._run, self._order, self._step, made, now_ns())
        self._keep()

    def _keep(self) -> None:
        until = now_ns() + LEASE_NS
        if not store.keep(self._run, self._order, self._until_ns, until):
            raise _Lost
        self._until_ns = until
