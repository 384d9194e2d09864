"""Findings to incidents: which finding belongs to which episode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apps.checkpoints.domain.storagewatch import KINDS as STORAGE
from apps.core.records import Finding, FindingSeverity

_LOUDNESS = {FindingSeverity.INFO: 0, FindingSeverity.WARN: 1, FindingSeverity.PAGE: 2}

FAILURE_KINDS = frozenset({"failure"})
SCRIPT_ALERT = "script_alert"
"""What the training script says by itself: never part of what a detector sees."""
_TRAINING = "training"
_FAMILIES = {
    "throughput_drop": "throughput",
    "straggler": "throughput",
    "save_failed": "saves",
    "save_late": "saves",
    "save_slow": "saves",
    **dict.fromkeys(STORAGE, "saves"),
    "no_contact": "contact",
    "silent_rank": "ranks",
    "wrong_start": "arrival",
    "wrong_folder": "arrival",
    SCRIPT_ALERT: "script",
}
"""Kinds that explain no loss and that no loss explains: each family has incidents of its own, so
that an exploded loss that trains on for hours does not swallow the page of a failed save. All
other kinds tell of the model (losses, gradients, layers, evaluations, ranks) or of its death."""


@dataclass(frozen=True, slots=True)
class CorrelationPolicy:
    """When two findings of one attempt tell of the same episode.

    before_steps: how far a signal may lead the loss (measured leads of 200-300 steps: a slow
    learning-rate ramp seen at 611 in the update norm and at 919 in the loss).
    after_steps: how far behind the last sign of the episode; the scorer of the detector gives an
    alarm 100 rows. An unfinished page takes in whatever follows; an unfinished warning takes in
    only warnings, so that it never dates a later explosion. crash_steps: a crash explains a loss,
    or a loss a crash, only this close: an exploded loss that trains on for hours did not cause a
    node's death. The `_ns` values are used when one of the two has no step. reopen_*: the episode
    came back, not a new one. relapse_steps: so far behind the last sign of an episode its return in
    a later attempt is a relapse; the same data come at the same steps, and a state that was damaged
    before the checkpoint was saved needs a while (a slow ramp: 300 steps).
    """

    before_steps: int = 300
    after_steps: int = 100
    crash_steps: int = 10
    reopen_steps: int = 50
    relapse_steps: int = 300
    before_ns: int = 1_800_000_000_000
    after_ns: int = 600_000_000_000
    crash_ns: int = 120_000_000_000
    reopen_ns: int = 600_000_000_000


DEFAULT_POLICY = CorrelationPolicy()


@dataclass(frozen=True, slots=True)
class Case:
    """An incident as the correlator sees it.

    ref: the id of a stored incident, negative for one this call opens. reopenable: resolved by
    itself: whatever joins it opens it again. Else, what a person or a verified rollback ended is
    opened by a relapse only. recovered: a later attempt is well, so that what its own attempts
    still tell is late evidence. mitigated: something was done, the verdict is to come.
    """

    ref: int
    findings: tuple[Finding, ...]
    resolved: bool = False
    reopenable: bool = False
    mitigated: bool = False
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class Correlation:
    """cases: those that changed, with all their findings. loose: findings without an incident."""

    cases: tuple[Case, ...]
    loose: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Extent:
    """From the first onset to the last sign of an episode, in steps and in time."""

    first_step: int | None
    last_step: int | None
    first_ns: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class _Reach:
    """How far outside an extent an onset may lie."""

    before_steps: int
    after_steps: int
    before_ns: int
    after_ns: int
    endless: bool = False


def loudness(severity: FindingSeverity) -> int:
    """0 info, 1 warn, 2 page."""
    return _LOUDNESS[severity]


def closed(finding: Finding) -> bool:
    """Whether the episode of this finding has ended."""
    return finding.closed_step is not None or finding.closed_time_ns is not None


def healed(finding: Finding) -> bool:
    """Whether this was an outlier that went away by itself: it never dates an incident."""
    return finding.kind == "outlier" and closed(finding)


def over(findings: Iterable[Finding]) -> bool:
    """Whether every finding louder than info has ended; of several attempts the newest counts,
    because the others log no more."""
    known = list(findings)
    newest = max((f.attempt for f in known), default=0)
    return all(closed(f) for f in known if f.attempt == newest and loudness(f.severity) > 0)


def relapses(known: Iterable[Finding], finding: Finding) -> bool:
    """Whether `finding` says that what the `known` ones of an incident tell of came back.

    Both are about the numbers of the model, it pages, and either happened in a later attempt or
    after all known ones had ended. One that was known already says nothing new. A job that dies
    again, or a save that fails again, blames hosts of its own and is another incident.
    """
    before = [f for f in known if loudness(f.severity) > 0 and _of_numbers(f)]
    if not (finding.page and _of_numbers(finding) and before):
        return False
    if any(f.key == finding.key for f in before):
        return False
    if finding.attempt != max(f.attempt for f in before):
        return finding.attempt > max(f.attempt for f in before)
    return all(_ended_before(f, finding) for f in before if f.attempt == finding.attempt)


def _ended_before(earlier: Finding, finding: Finding) -> bool:
    if earlier.closed_step is not None and finding.onset_step is not None:
        return earlier.closed_step < finding.onset_step
    ended_ns = earlier.closed_time_ns
    return ended_ns is not None and ended_ns < finding.onset_time_ns


def _family(finding: Finding) -> str:
    return _FAMILIES.get(finding.kind, _TRAINING)


def _of_numbers(finding: Finding) -> bool:
    return _family(finding) == _TRAINING and finding.kind not in FAILURE_KINDS


def correlate(
    cases: Sequence[Case],
    findings: Sequence[Finding],
    policy: CorrelationPolicy = DEFAULT_POLICY,
) -> Correlation:
    """Put every finding into a case; findings are of one run and one attempt, cases of that
    attempt or, as far as a relapse of them is possible, of earlier ones.

    A finding whose key a case already holds replaces the older state and never moves. Else it
    joins the oldest case it is near to, else it opens one, unless it is only "info". A finding
    equal to the stored one changes nothing, so a repeated call returns nothing.
    """
    book = _Book(cases)
    for finding in sorted(findings, key=_order):
        book.take(finding, policy)
    return Correlation(tuple(book.changed()), tuple(book.loose))


class _Book:
    """The cases of one call while it runs."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = {case.ref: case for case in cases}
        self._home = {f.key: case.ref for case in cases for f in case.findings}
        self._touched: list[int] = []
        self._next_ref = -1
        self.loose: list[Finding] = []

    def changed(self) -> list[Case]:
        return [self._cases[ref] for ref in self._touched]

    def take(self, finding: Finding, policy: CorrelationPolicy) -> None:
        ref = self._home.get(finding.key)
        if ref is None:
            ref = self._near(finding, policy)
        if ref is None and loudness(finding.severity) == 0:
            self.loose.append(finding)
            return
        self._put(self._open() if ref is None else ref, finding)

    def _near(self, finding: Finding, policy: CorrelationPolicy) -> int | None:
        for case in self._cases.values():
            if joins(case, finding, policy):
                return case.ref
        return None

    def _open(self) -> int:
        ref = self._next_ref
        self._next_ref -= 1
        self._cases[ref] = Case(ref, ())
        return ref

    def _put(self, ref: int, finding: Finding) -> None:
        case = self._cases[ref]
        if finding in case.findings:
            return
        others = tuple(f for f in case.findings if f.key != finding.key)
        self._cases[ref] = replace(case, findings=(*others, finding))
        self._home[finding.key] = ref
        if ref not in self._touched:
            self._touched.append(ref)


def joins(case: Case, finding: Finding, policy: CorrelationPolicy) -> bool:
    """Whether `finding` is part of the episode `case`."""
    if any(_family(f) != _family(finding) for f in case.findings):
        return False
    here = [f for f in case.findings if f.attempt == finding.attempt]
    if not here:
        return relapses(case.findings, finding) and _returns(case, finding, policy)
    if finding.kind == SCRIPT_ALERT:
        return (not case.resolved or case.reopenable) and _same_alert(case, finding)
    extent = _extent(here)
    if case.resolved and not case.recovered:
        reach = _Reach(0, policy.reopen_steps, 0, policy.reopen_ns)
        opens = case.reopenable or relapses(here, finding)
        return opens and _within(finding, extent, reach)
    if (finding.kind in FAILURE_KINDS) != _has_failure(here):
        start = replace(extent, last_step=extent.first_step, last_ns=extent.first_ns)
        steps, time_ns = policy.crash_steps, policy.crash_ns
        return _within(finding, start, _Reach(steps, steps, time_ns, time_ns))
    return _within(finding, extent, _reach(here, finding, policy))


def _returns(case: Case, finding: Finding, policy: CorrelationPolicy) -> bool:
    """Whether a later attempt came to the steps of the episode again; without steps it cannot be
    said, since attempts share no time. While the verdict on what was done is out, whatever follows
    is its return."""
    extent = _extent(case.findings)
    if None in (finding.onset_step, extent.first_step, extent.last_step):
        return False
    reach = _Reach(policy.before_steps, policy.relapse_steps, 0, 0, endless=case.mitigated)
    return _within(finding, extent, reach)


def _same_alert(case: Case, finding: Finding) -> bool:
    """Whether the script says again what it said; its titles often differ in a number only."""
    said = (finding.kind, finding.severity, finding.facts.get("topic"))
    return all((f.kind, f.severity, f.facts.get("topic")) == said for f in case.findings)


def _reach(here: Sequence[Finding], finding: Finding, policy: CorrelationPolicy) -> _Reach:
    level = loudness(finding.severity)
    unfinished = [f for f in here if not closed(f)]
    endless = level > 0 and any(loudness(f.severity) >= level for f in unfinished)
    louder = level > max(loudness(f.severity) for f in here)
    return _Reach(
        before_steps=policy.before_steps,
        after_steps=policy.before_steps if louder else policy.after_steps,
        before_ns=policy.before_ns,
        after_ns=policy.before_ns if louder else policy.after_ns,
        endless=endless,
    )


def _within(finding: Finding, extent: _Extent, reach: _Reach) -> bool:
    step = finding.onset_step
    if step is not None and extent.first_step is not None and extent.last_step is not None:
        late = not reach.endless and step > extent.last_step + reach.after_steps
        return step >= extent.first_step - reach.before_steps and not late
    late = not reach.endless and finding.onset_time_ns > extent.last_ns + reach.after_ns
    return finding.onset_time_ns >= extent.first_ns - reach.before_ns and not late


def _extent(findings: Sequence[Finding]) -> _Extent:
    loud = [f for f in findings if loudness(f.severity) > 0] or list(findings)
    return _Extent(
        first_step=min((f.onset_step for f in loud if f.onset_step is not None), default=None),
        last_step=max((s for f in loud for s in _steps(f)), default=None),
        first_ns=min(f.onset_time_ns for f in loud),
        last_ns=max(max(f.onset_time_ns, f.closed_time_ns or f.seen_time_ns) for f in loud),
    )


def _steps(finding: Finding) -> list[int]:
    end = finding.closed_step if finding.closed_step is not None else finding.seen_step
    return [s for s in (finding.onset_step, end) if s is not None]


def _has_failure(findings: Iterable[Finding]) -> bool:
    return any(f.kind in FAILURE_KINDS for f in findings)


def _order(finding: Finding) -> tuple[bool, int, int, int, str]:
    """What may open an incident before what may only join one, then oldest, then loudest first."""
    step = finding.onset_step if finding.onset_step is not None else 2**62
    level = loudness(finding.severity)
    return (level == 0, finding.onset_time_ns, step, -level, finding.key)
