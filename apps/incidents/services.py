"""Findings become incidents. What people and rollbacks do to one is in `acting`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from apps.accounts.records import SYSTEM
from apps.accounts.services import audit
from apps.core.records import Finding
from apps.incidents import blaming, store
from apps.incidents.acting import (
    acknowledge,
    apply,
    assign,
    change,
    mitigate,
    note,
    relapse,
    remark,
    resolve,
    silence,
    take_back,
    unsilence,
)
from apps.incidents.domain.correlate import SCRIPT_ALERT, Case, correlate, over, relapses
from apps.incidents.domain.earliest import (
    Move,
    as_signal,
    first_move,
    move_of,
    moved_with,
    next_look,
)
from apps.incidents.domain.incident import (
    NOTHING_DONE,
    IncidentChange,
    IncidentInfo,
    IncidentState,
    Resolution,
)
from apps.incidents.domain.movers import Looked, anchor_of, in_order
from apps.incidents.domain.script_alert import DEFAULT_POLICY, ScriptAlert, as_finding
from apps.incidents.domain.state import Act, Deed
from apps.incidents.domain.summary import Summary, summarise
from apps.incidents.domain.suspects import merge_suspects
from apps.metrics import naming
from apps.metrics.moved import MovedSignal, moved
from apps.runs import store as runs

__all__ = [
    "Reported",
    "absorb",
    "acknowledge",
    "assign",
    "change",
    "mitigate",
    "note",
    "relapse",
    "remark",
    "report",
    "resolve",
    "silence",
    "take_back",
    "unsilence",
]

_DAY_NS = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class _Scene:
    """What one call of absorb works on."""

    run_id: int
    attempt: int
    now_ns: int
    nodes: dict[int, str]
    newest_step: int | None


def absorb(
    run_id: int, attempt: int, findings: Sequence[Finding], now_ns: int
) -> list[IncidentChange]:
    """Put findings into incidents; the changes, in order, for `alerts.services.plan`.

    One transaction, one call at a time per run. Repeated with the same findings it changes
    nothing and returns []. An incident whose findings have all ended resolves itself. Call it
    after new rows even without findings: the earliest signal of a fresh incident is sought again
    while the rows behind its onset arrive.

    Cost: two statements when there is nothing to do. Else grows with the findings that the open
    incidents of the attempt hold (they are read), with those that are new (they are written), and
    by `metrics.moved.moved` for each onset that is new or looked at again.
    """
    with transaction.atomic():
        newest = runs.last_step(run_id, attempt)
        if not findings and not _to_look_again(run_id, attempt, newest):
            return []
        runs.lock_run(run_id)
        # Read again: whoever held the run may have changed it.
        newest = runs.last_step(run_id, attempt)
        again = _to_look_again(run_id, attempt, newest)
        places = runs.placements(run_id, attempt)
        nodes = {rank: place.node for rank, place in places.items()}
        scene = _Scene(run_id, attempt, now_ns, nodes, newest)
        changes = _correlate(scene, findings) if findings else []
        touched = {change.incident_id for change in changes}
        again = [info for info in again if info.id not in touched]
        held = store.findings_by_incident(run_id, [info.id for info in again])
        for info in again:
            if _seek(scene, info.id, _onset(info), held.get(info.id, [])):
                changes.append(IncidentChange(run_id, info.id, "extended"))
        if touched:
            blaming.note(run_id, touched, now_ns)
        return changes


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a script's alerts. repeated: how many count as one said before. not_kept:
    how many the attempt has no room for."""

    changes: list[IncidentChange]
    repeated: int
    not_kept: int


def report(run_id: int, attempt: int, said: Sequence[ScriptAlert], now_ns: int) -> Reported:
    """Notes what a training script says by itself; the changes are for `alerts.services.plan`.

    An error opens an incident that pages, a warning one that is over at once, the rest is a
    finding without an incident. It has an incident of its own, whatever the detectors see. Runs in
    the caller's transaction and holds the run's row; a few statements, however many alerts.
    """
    runs.lock_run(run_id)
    known: dict[str, Finding] = {f.key: f for f in store.findings_of_kind(run_id, SCRIPT_ALERT)}
    told, repeated, kept = dict[str, Finding](), 0, said[: DEFAULT_POLICY.kept]
    not_kept = len(said) - len(kept)
    for alert in kept:
        finding = as_finding(alert, attempt, list(known.values()))
        if finding is None:
            not_kept += 1
            continue
        repeated += finding.key in known
        if known.get(finding.key) != finding:
            known[finding.key] = told[finding.key] = finding
    changes = absorb(run_id, attempt, list(told.values()), now_ns) if told else []
    return Reported(changes, repeated, not_kept)


def _correlate(scene: _Scene, findings: Sequence[Finding]) -> list[IncidentChange]:
    fresh = [store.as_stored(f) for f in findings]
    known = _known(scene, fresh)
    held = store.findings_by_incident(scene.run_id, known)
    result = correlate([_case(info, held.get(info.id, ())) for info in known.values()], fresh)
    if result.loose:
        store.save_findings(scene.run_id, result.loose, None)
    changes: list[IncidentChange] = []
    keys = {finding.key for finding in fresh}
    for case in result.cases:
        news = [finding for finding in case.findings if finding.key in keys]
        changes += _apply(scene, known.get(case.ref), case, _News(news, held.get(case.ref, ())))
    return changes


@dataclass(frozen=True, slots=True)
class _News:
    """findings: what is new or newer of a case. before: all that was known of it."""

    findings: Sequence[Finding]
    before: Sequence[Finding]

    @property
    def relapse(self) -> Finding | None:
        """The first finding that says that it came back."""
        back = [f for f in self.findings if relapses(self.before, f)]
        return min(back, key=lambda f: (f.onset_time_ns, f.key), default=None)


def _known(scene: _Scene, fresh: Sequence[Finding]) -> dict[int, IncidentInfo]:
    """id -> the incidents a finding may belong to: unresolved ones, then the newest, then those of
    earlier attempts that may have come back."""
    since_ns = scene.now_ns - _DAY_NS
    live = store.live_incidents(scene.run_id, scene.attempt, since_ns)
    missing = store.homes(scene.run_id, [f.key for f in fresh]) - {info.id for info in live}
    infos = [*live, *store.get_many(scene.run_id, missing)]
    infos.sort(key=lambda i: (0, i.id) if i.unresolved else (1, -i.id))
    if scene.attempt > 0 and any(finding.page for finding in fresh):
        infos += store.earlier_incidents(scene.run_id, scene.attempt, since_ns)
    return {info.id: info for info in infos}


def _case(info: IncidentInfo, held: Sequence[Finding]) -> Case:
    return Case(
        ref=info.id,
        findings=tuple(held),
        resolved=info.state is IncidentState.RESOLVED,
        reopenable=info.resolution == Resolution.CLOSED,
        mitigated=info.state is IncidentState.MITIGATED,
        recovered=info.resolution == Resolution.RECOVERED,
    )


def _apply(
    scene: _Scene, info: IncidentInfo | None, case: Case, news: _News
) -> list[IncidentChange]:
    """Write one changed case: its new findings, its summary, its history, its state."""
    if info is None:
        incident_id, change = _open(scene, case), "opened"
    else:
        incident_id, change = info.id, "extended"
        _extend(scene, info, case)
    store.save_findings(scene.run_id, news.findings, incident_id)
    _remember(scene, incident_id, news.findings)
    changes = [IncidentChange(scene.run_id, incident_id, change)]
    return changes + _follow(scene, incident_id, case, news.relapse)


def _open(scene: _Scene, case: Case) -> int:
    summary = summarise(case.findings, scene.nodes)
    incident_id = store.add_incident(scene.run_id, scene.attempt, summary, scene.now_ns)
    _opened(scene, incident_id, summary)
    _seek(scene, incident_id, (summary.onset_step, summary.onset_time_ns), case.findings)
    return incident_id


def _extend(scene: _Scene, info: IncidentInfo, case: Case) -> None:
    """The summary is of the attempt in which it began: a relapse moves neither onset nor cause, but
    whom it accuses comes first."""
    if info.attempt != scene.attempt:
        here = [finding for finding in case.findings if finding.attempt == scene.attempt]
        accused = merge_suspects(here, scene.nodes)
        known = {(suspect.rank, suspect.node) for suspect in accused}
        others = [s for s in info.suspects if (s.rank, s.node) not in known]
        store.save_extent(info, case.findings, [*accused, *others])
        return
    own = [finding for finding in case.findings if finding.attempt == info.attempt]
    summary = replace(summarise(own, scene.nodes), finding_count=len(case.findings))
    store.save_summary(info, summary)
    onset = (summary.onset_step, summary.onset_time_ns)
    if _onset(info) != onset or _other_anchor(info, onset, own):
        _seek(scene, info.id, onset, own)


def _seek(
    scene: _Scene, incident_id: int, onset: tuple[int | None, int], findings: Sequence[Finding]
) -> bool:
    """Look for the series that moved; whether another one is the first than before."""
    anchor = anchor_of(findings, onset)
    if anchor is None:
        return False
    found = moved(scene.run_id, scene.attempt, anchor.step)
    lr = naming.roles_of(scene.run_id).lr
    moves = [_move(signal) for signal in found.signals if signal.key != lr]
    looked = Looked(found.looked_at, found.left_out, found.layered)
    store.save_movers(scene.run_id, incident_id, in_order(moves, anchor, looked))
    move, signal = first_move(moves, anchor.step), None
    if move is not None:
        start = (anchor.step, anchor.time_ns)
        signal = as_signal(move, move.time_ns, start, more=moved_with(moves, move))
        if anchor.step != onset[0]:
            signal = replace(signal, ahead_of=anchor.words)
    look_again = next_look(anchor.step, scene.newest_step or anchor.step)
    return store.save_earliest(scene.run_id, incident_id, signal, look_again)


def _other_anchor(
    info: IncidentInfo, onset: tuple[int | None, int], findings: Sequence[Finding]
) -> bool:
    """Whether leads are counted from elsewhere by now: the loss has followed its layers."""
    anchor, known = anchor_of(findings, onset), store.movers(info.run_id, info.id)
    if anchor is None or known is None:
        return False
    return (known.anchor_step, known.by_loss) != (anchor.step, anchor.loss)


def _move(signal: MovedSignal) -> Move:
    gone = signal.departure
    named = move_of(signal.key, gone.step, gone.z, signal.layer)
    return replace(
        named, rank=signal.rank, time_ns=gone.time_ns, before=gone.before, value=gone.value
    )


def _to_look_again(run_id: int, attempt: int, newest_step: int | None) -> list[IncidentInfo]:
    return [] if newest_step is None else store.to_look_again(run_id, attempt, newest_step)


def _onset(info: IncidentInfo) -> tuple[int | None, int]:
    return info.onset_step, info.onset_time_ns


def _opened(scene: _Scene, incident_id: int, summary: Summary) -> None:
    opened = store.EventInfo(scene.now_ns, "opened", f"opened: {summary.title}", SYSTEM.name)
    store.add_events(scene.run_id, incident_id, [opened])
    audit(
        SYSTEM,
        "incident.opened",
        f"incident {incident_id}",
        run_id=scene.run_id,
        after={"state": "open", "kind": summary.kind, "title": summary.title},
    )


def _remember(scene: _Scene, incident_id: int, news: Sequence[Finding]) -> None:
    """A history line for each finding; those already there are left alone."""
    lines = [
        store.EventInfo(scene.now_ns, f"finding:{f.key}", f"found: {f.title}", SYSTEM.name)
        for f in news
    ]
    store.add_events(scene.run_id, incident_id, lines)


def _follow(
    scene: _Scene, incident_id: int, case: Case, relapse: Finding | None
) -> list[IncidentChange]:
    """Reopen what came back, resolve what has ended by itself."""
    changes: list[IncidentChange] = []
    info = store.lock(scene.run_id, incident_id)
    if info is not None and relapse is not None and _undone(info, relapse):
        changes += apply(info, _relapsed(scene, relapse))
        info = store.lock(scene.run_id, incident_id)
    if info is None:
        return changes
    if over(case.findings):
        ended = Deed(Act.RESOLVE, scene.now_ns, SYSTEM.name, resolution=Resolution.CLOSED)
        return changes + apply(info, ended)
    if info.state is IncidentState.RESOLVED and info.resolution == Resolution.CLOSED:
        return changes + apply(info, Deed(Act.REOPEN, scene.now_ns, SYSTEM.name))
    return changes


def _undone(info: IncidentInfo, relapse: Finding) -> bool:
    """Whether something was done or decided that did not hold, or another attempt is no better: an
    episode that only ends and returns by itself in one attempt is no relapse, nor is what an
    attempt that was left still tells."""
    if relapse.attempt not in (info.attempt, info.relapsed_attempt):
        return True
    held = info.resolution in (Resolution.CLOSED, Resolution.RECOVERED)
    return not (held or info.state in NOTHING_DONE)


def _relapsed(scene: _Scene, finding: Finding) -> Deed:
    return Deed(
        Act.REOPEN,
        scene.now_ns,
        SYSTEM.name,
        "go back further: the next older checkpoint is suggested",
        step=finding.onset_step,
        attempt=finding.attempt,
    )
