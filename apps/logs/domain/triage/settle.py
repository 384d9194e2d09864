"""When an error is a failure, and when its verdict is ready for a person. Pure state machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SettlePolicy:
    """quiet_ns: an error without later progress of its rank is a failure after this time, or
    after quiet_paces times the time between two step lines, if that is longer (at most
    max_quiet_ns).

    settle_ns: a verdict is settled when no line has changed it for this long; max_ns: at the
    latest this long after it was first given out. A job of 8 ranks ends in 1 to 2 seconds.
    """

    quiet_ns: int = 20 * S
    quiet_paces: int = 3
    max_quiet_ns: int = 1_800 * S
    settle_ns: int = 3 * S
    max_ns: int = 30 * S


@dataclass(frozen=True, slots=True)
class TriageState:
    """Where the rule stands on one attempt; the columns of models.Triage.

    dirty: lines came since. waiting_since_ns: an error waits for progress. confirmed_ns: first
    report. changed_ns: last change. look_again_ns: time alone decides then. fingerprint: of the
    verdict given out, "" = none. All times are of the server's clock.
    """

    dirty: bool = True
    waiting_since_ns: int | None = None
    confirmed_ns: int | None = None
    changed_ns: int | None = None
    look_again_ns: int | None = None
    fingerprint: str = ""
    settled: bool = False
    taxonomy: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict as this module needs it. fingerprint: None if there is no failure.

    pace_ns: time between two step lines of the job, None if unknown.
    """

    fingerprint: str | None
    confirmed: bool
    pace_ns: int | None = None


class Action(StrEnum):
    """What to do with the verdict."""

    NOTHING = "nothing"
    REPORT = "report"
    RECOVERED = "recovered"


@dataclass(frozen=True, slots=True)
class Decision:
    """The new state and what follows."""

    state: TriageState
    action: Action


def is_due(state: TriageState, now_ns: int) -> bool:
    """Whether there is anything to judge. A verdict that is not settled is given out each time."""
    if state.dirty or (state.fingerprint and not state.settled):
        return True
    return state.look_again_ns is not None and now_ns >= state.look_again_ns


def settle(
    state: TriageState, judged: Judged, *, now_ns: int, policy: SettlePolicy | None = None
) -> Decision:
    """What to do with a verdict now."""
    rule = policy or SettlePolicy()
    if judged.fingerprint is None:
        action = Action.RECOVERED if state.fingerprint else Action.NOTHING
        cleared = TriageState(dirty=False, taxonomy=state.taxonomy)
        return Decision(cleared, action)
    if not judged.confirmed and not state.fingerprint:
        since = now_ns if state.waiting_since_ns is None else state.waiting_since_ns
        until = since + min(
            max(rule.quiet_ns, rule.quiet_paces * (judged.pace_ns or 0)), rule.max_quiet_ns
        )
        if now_ns < until:
            waiting = replace(state, dirty=False, waiting_since_ns=since, look_again_ns=until)
            return Decision(waiting, Action.NOTHING)
    return _report(state, judged.fingerprint, now_ns, rule)


def _report(state: TriageState, fingerprint: str, now_ns: int, rule: SettlePolicy) -> Decision:
    first = now_ns if state.confirmed_ns is None else state.confirmed_ns
    moved = state.dirty or fingerprint != state.fingerprint
    changed = now_ns if moved or state.changed_ns is None else state.changed_ns
    ready = now_ns - changed >= rule.settle_ns or now_ns - first >= rule.max_ns
    settled = state.settled or ready
    after = replace(
        state,
        dirty=False,
        confirmed_ns=first,
        changed_ns=changed,
        look_again_ns=None if settled else min(changed + rule.settle_ns, first + rule.max_ns),
        fingerprint=fingerprint,
        settled=settled,
    )
    is_news = fingerprint != state.fingerprint or not state.settled
    return Decision(after, Action.REPORT if is_news else Action.NOTHING)
