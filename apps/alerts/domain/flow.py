"""Which of the mails that are due to one person go out now, which together, which later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.alerts.domain.message import ASIDE, OPENERS, Kind
from apps.alerts.domain.timing import HOUR_NS, SECOND_NS


class Why(StrEnum):
    """Why messages share a mail."""

    ALONE = "alone"
    WARNINGS = "warnings"
    STORM = "storm"
    CAP = "cap"


@dataclass(frozen=True, slots=True)
class FlowPolicy:
    """storm: so many incidents of one run within storm_s get a mail each; with one more, those
    that are not told yet share one. cap: mails a person gets in an hour; the last of them holds
    everything that waits. 0: any number.

    Source of the defaults: the alert design (ui.md of the project): "more than 5 incidents on one
    run within 2 min", "20 an hour".
    """

    storm: int = 5
    storm_s: float = 120.0
    cap: int = 20

    @property
    def storm_ns(self) -> int:
        return int(self.storm_s * SECOND_NS)


DEFAULT_FLOW = FlowPolicy()


@dataclass(frozen=True, slots=True)
class Letter:
    """A message in the outbox that is not sent yet. due_ns: as it stands there."""

    run_id: int
    incident_id: int
    kind: Kind
    seq: int
    urgent: bool
    due_ns: int
    planned_ns: int


@dataclass(frozen=True, slots=True)
class Told:
    """A message that was sent, or that another one said too (folded)."""

    run_id: int
    kind: Kind
    told_ns: int
    folded: bool


@dataclass(frozen=True, slots=True)
class Parcel:
    """hold_ns: nothing goes out before then; None: now. others: go with the first letter.

    last_until_ns: this is the last mail that the cap allows before then; None if it is not.
    """

    hold_ns: int | None = None
    why: Why = Why.ALONE
    others: tuple[Letter, ...] = ()
    last_until_ns: int | None = None


def pack(
    first: Letter,
    waiting: Sequence[Letter],
    told: Sequence[Told],
    now_ns: int,
    policy: FlowPolicy = DEFAULT_FLOW,
) -> Parcel:
    """What to do with the letter that is due first.

    waiting: the same person's other letters, due or not. told: what the person was told in the
    last hour. Every letter is in exactly one mail: none is dropped, it may only wait and share.
    """
    mails = sorted(t.told_ns for t in told if not t.folded and t.told_ns > now_ns - HOUR_NS)
    due = [w for w in waiting if w.due_ns <= now_ns and w.kind not in ASIDE]
    if policy.cap and len(mails) >= policy.cap:
        return Parcel(hold_ns=mails[-policy.cap] + HOUR_NS)
    if policy.cap and len(mails) == policy.cap - 1:
        until_ns = (mails or [now_ns])[0] + HOUR_NS
        others = () if first.kind in ASIDE else tuple(due)
        return Parcel(why=Why.CAP, others=others, last_until_ns=until_ns)
    if not first.urgent and first.kind in (*OPENERS, Kind.CLOSING):
        return _together(Why.WARNINGS, [w for w in waiting if _quiet(w, now_ns)])
    if first.kind in OPENERS:
        return _storm(first, due, told, now_ns, policy)
    return Parcel()


def _together(why: Why, others: Sequence[Letter]) -> Parcel:
    return Parcel(why=why, others=tuple(others)) if others else Parcel()


def _quiet(letter: Letter, now_ns: int) -> bool:
    """Warnings of the last minutes go with the first of them; an end only once it is certain."""
    if letter.urgent:
        return False
    return letter.kind in OPENERS or (letter.kind is Kind.CLOSING and letter.due_ns <= now_ns)


def _storm(
    first: Letter, due: Sequence[Letter], told: Sequence[Told], now_ns: int, policy: FlowPolicy
) -> Parcel:
    """Many incidents of one run at once: one mail for those that have none yet."""
    same = [w for w in due if w.run_id == first.run_id and w.kind in OPENERS and w.urgent]
    began_ns = min(w.planned_ns for w in (first, *same))
    before = [
        t
        for t in told
        if t.run_id == first.run_id and t.kind in OPENERS and t.told_ns > began_ns - policy.storm_ns
    ]
    if len(same) + 1 + len(before) <= policy.storm:
        return Parcel()
    release_ns = began_ns + policy.storm_ns
    if before and now_ns < release_ns:
        return Parcel(hold_ns=release_ns)
    return _together(Why.STORM, same)
