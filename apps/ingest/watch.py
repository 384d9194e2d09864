"""What only a clock can tell: silent runs and ranks, saves that do not come, storage in danger.

One look at all watched runs costs a few statements; only a run with news costs a transaction of
its own. A look that dies is made up for by the next one: what it has learned commits before what it
tells, and what it tells commits together with the note that it was told.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from apps.alerts import services as alerts
from apps.checkpoints import overdue, watching
from apps.checkpoints import store as checkpoints
from apps.checkpoints.domain import saves, storagewatch
from apps.core import live
from apps.core.database import SERVER_TROUBLE
from apps.core.records import Evidence, Finding, FindingSeverity
from apps.incidents import services as incidents
from apps.incidents import store as incident_store
from apps.ingest import mirrors, store, stream
from apps.logs import store as logs
from apps.logs.domain.triage import silent
from apps.logs.store import behind, stepclocks
from apps.rollbacks import store as rollbacks
from apps.runs import contact_store, stop_store
from apps.runs import store as runs
from apps.runs.contact_store import Watched
from apps.runs.domain import contact, contact_report
from apps.runs.domain.contact import DEFAULT_POLICY, Silence, WatchClock
from apps.runs.domain.stop import StopState

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Round:
    """What one look knows beside the runs. mirrored: run id -> when its puller spoke last.
    orders: runs that are being rolled back. heard: some run is in contact."""

    now_ns: int
    clock: WatchClock
    mirrored: Mapping[int, int]
    orders: frozenset[int]
    heard: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    """A run with what was learned, and what should be open about it by now."""

    run: Watched
    silence: Silence
    findings: tuple[Finding, ...]

    @property
    def wanted(self) -> dict[str, str]:
        """key -> severity."""
        return {finding.key: finding.severity.value for finding in self.findings}


def look(now_ns: int) -> int:
    """Looks at every watched run; how many of them had news. Idempotent.

    An outage of ours is no silence of theirs: after missed looks every silence counts from now on,
    and nothing that arrived but is not written yet is taken for silence.
    """
    scene, learned = _learn(now_ns)
    overdue.fail_overdue(_newest(learned), scene.clock.judged_ns)
    seen = _judged(learned, scene)
    told = sum(_tell_safely(one.run, scene) for one in seen if one.wanted != one.run.told)
    done = [s.run for s in seen if contact.given_up(s.run.look, scene.clock)]
    # What was told of one that has ended is taken back first, by this look or the next.
    done = [run for run in done if not (run.look.ended and run.told)]
    if done:
        contact_store.look_away({run.run_id: run.look.heard_ns for run in done})
    return told


def _learn(now_ns: int) -> tuple[_Round, list[_Seen]]:
    """Reads all watched runs and keeps what they teach, in one transaction; one look at a time."""
    waiting_ns = stream.backlog().oldest_ns
    with transaction.atomic():
        clock = _clock(now_ns, now_ns if waiting_ns is None else waiting_ns)
        contact_store.save_look(now_ns, clock)
        found = contact_store.watched()
        scene = _scene(found, clock, now_ns)
        seen = [_learned(run, scene) for run in found]
        contact_store.save_rhythms(
            (after.run.run_id, after.run.rhythm, after.silence)
            for after, before in zip(seen, found, strict=True)
            if after.run.rhythm is not before.rhythm or after.silence.limit_s != before.limit_s
        )
    return scene, seen


def _newest(seen: Sequence[_Seen]) -> dict[int, int]:
    """run id -> when its newest data was made, of runs that go on."""
    alive = (one.run for one in seen if not one.run.look.ended)
    return {run.run_id: run.look.event_ns for run in alive if run.look.event_ns is not None}


def _clock(now_ns: int, written_ns: int) -> WatchClock:
    """written_ns: everything that arrived before it is written. Looks that are missing are an
    outage of ours unless bodies were written meanwhile: then only the watch was away."""
    looked_ns, resumed_ns = contact_store.last_look()
    if contact.missed(now_ns, looked_ns):
        edge_ns = int(contact.MISSED_LOOKS * contact.LOOK_EVERY_S * 1e9)
        if looked_ns is None or not store.wrote(looked_ns + edge_ns, now_ns - edge_ns):
            resumed_ns = now_ns
    return WatchClock(min(now_ns, written_ns), resumed_ns)


def _scene(found: Sequence[Watched], clock: WatchClock, now_ns: int) -> _Round:
    ids = [run.run_id for run in found]
    newest = max((run.look.heard_ns for run in found if not run.look.ended), default=0)
    return _Round(
        now_ns=now_ns,
        clock=clock,
        mirrored=mirrors.seen_ns(ids),
        orders=frozenset(rollbacks.active_of(ids)),
        heard=clock.judged_ns - newest < DEFAULT_POLICY.floor_s * 1e9,
    )


def _learned(run: Watched, scene: _Round) -> _Seen:
    clock = _clock_of(run, scene)
    rhythm = contact.learn(run.rhythm, run.look, clock)
    known = contact.silence(rhythm, started=run.look.started)
    if run.run_id in scene.orders:
        # A rollback stops the job on purpose; loading and compiling take as long as at a start.
        known = replace(known, limit_s=max(known.limit_s, DEFAULT_POLICY.unlearned_s))
    return _Seen(replace(run, rhythm=rhythm), known, ())


def _clock_of(run: Watched, scene: _Round) -> WatchClock:
    """Of a run that a puller mirrors, the silence of the puller is no silence of the run."""
    seen_ns = scene.mirrored.get(run.run_id)
    if seen_ns is None:
        return scene.clock
    return replace(scene.clock, judged_ns=min(scene.clock.judged_ns, seen_ns))


def _judged(seen: Sequence[_Seen], scene: _Round) -> list[_Seen]:
    alive = [s.run.run_id for s in seen if not s.run.look.ended]
    saved = checkpoints.newest_saves(alive)
    uneven = behind.uneven({s.run.run_id: s.run.attempt for s in seen if not s.run.look.ended})
    stored = watching.storage_of(alive, scene.now_ns)
    return [
        replace(
            s,
            findings=(
                *_silent(s, scene),
                *(_silent_ranks(s.run, scene) if s.run.run_id in uneven else ()),
                *_saves(s.run, saved.get(s.run.run_id, ())),
                *_storage(s.run, stored.get(s.run.run_id), scene),
            ),
        )
        for s in seen
    ]


def _silent(seen: _Seen, scene: _Round) -> list[Finding]:
    run, silence = seen.run, seen.silence
    key = contact_report.key_of(run.attempt, run.look.heard_ns)
    clock = _clock_of(run, scene)
    # What was told stands until something is heard, also when we were away in between.
    stands = key in run.told and not run.look.ended
    if not stands and not contact.is_silent(run.look, silence.limit_s, clock):
        return []
    silent = contact_report.Silent(
        run.attempt, run.look, run.rhythm, silence, scene.now_ns, alone=scene.heard
    )
    finding = contact_report.no_contact(silent)
    return [replace(finding, severity=FindingSeverity(run.told[key]))] if stands else [finding]


def _silent_ranks(run: Watched, scene: _Round) -> list[Finding]:
    """Of a run that is heard of: one that is silent as a whole is told as such."""
    if run.look.event_ns is None or not contact.is_live(run.look):
        return []
    judged_ns = _clock_of(run, scene).judged_ns
    clocks = stepclocks.clocks(run.run_id, run.attempt)
    pulses = silent.on_one_clock(behind.pulses(run.run_id, run.attempt), clocks)
    return silent.silent(pulses, run.attempt, judged_ns, run.told)


def _saves(run: Watched, saved: Sequence[saves.Saved]) -> list[Finding]:
    training = _training(run)
    return saves.judge(saved, training) if training else []


def _storage(run: Watched, stored: watching.Storage | None, scene: _Round) -> list[Finding]:
    training = _training(run)
    if training is None or stored is None:
        return []
    seen = storagewatch.Scene(
        training, stored.held, stored.folders, scene.now_ns, standing=run.told
    )
    return storagewatch.judge(seen)


def _training(run: Watched) -> saves.Training | None:
    """Of a run that is alive; while it is silent nobody knows what it saves."""
    look = run.look
    if look.ended or look.event_ns is None or not contact.is_live(look):
        return None
    return saves.Training(run.attempt, run.first_step, look.step, run.started_ns, look.event_ns)


def _tell_safely(run: Watched, scene: _Round) -> bool:
    """One run that makes trouble keeps no other from being told."""
    try:
        return _tell(run.run_id, scene)
    except SERVER_TROUBLE:
        raise
    except Exception:
        log.exception("watch.failed", extra={"run": run.key})
        return False


def _tell(run_id: int, scene: _Round) -> bool:
    """Opens and closes findings of a run, all or nothing; False if there is no news after all.

    Judged again under the lock of the run: it may have been heard of since the look.
    """
    with transaction.atomic():
        runs.lock_run(run_id)
        run = contact_store.watched_run(run_id)
        if run is None:
            return False
        seen = _judged([_learned(run, scene)], scene)[0]
        if seen.wanted == run.told:
            return False
        changes = []
        for attempt, findings in _news(seen, scene).items():
            changes += incidents.absorb(run_id, attempt, findings, scene.now_ns)
        alerts.plan(changes, scene.now_ns)
        contact_store.save_told(run_id, seen.wanted)
    live.publish(run.key, step=None, what=("incidents",))
    return True


def _news(seen: _Seen, scene: _Round) -> dict[int, list[Finding]]:
    """attempt -> what opened, grew louder or is over."""
    run, wanted = seen.run, seen.wanted
    opened = [f for f in seen.findings if run.told.get(f.key) != f.severity.value]
    over = [key for key in run.told if key not in wanted]
    known = incident_store.findings_by_key(run.run_id, over)
    news = [_in_context(f, run, scene) for f in opened] + [_closed(f, run) for f in known]
    found: dict[int, list[Finding]] = {}
    for finding in news:
        found.setdefault(finding.attempt, []).append(finding)
    return found


def _in_context(finding: Finding, run: Watched, scene: _Round) -> Finding:
    """A silence with what was heard last; one that somebody asked for is only information."""
    if finding.kind != contact_report.NO_CONTACT:
        return finding
    stops = [s for s in stop_store.stops(run.run_id) if s.attempt == run.attempt]
    if any(stop.state is StopState.DELIVERED for stop in stops):
        return contact_report.asked_for(finding, "this attempt was told to stop")
    return replace(finding, evidence=(*finding.evidence, *_last_words(run)))


def _last_words(run: Watched) -> list[Evidence]:
    """The line that was printed last, and by whom."""
    spoke = [a for a in logs.rank_activity(run.run_id, run.attempt) if a.last_ns and a.last_text]
    last = max(spoke, key=lambda a: a.last_ns or 0, default=None)
    if last is None:
        return []
    text = f'the last line that arrived: "{last.last_text[:200]}"'
    return [Evidence(text, last.last_ns, last.last_step, last.rank, last.node, weight=0)]


def _closed(finding: Finding, run: Watched) -> Finding:
    """A finding that no longer holds."""
    look = run.look
    if finding.kind == contact_report.NO_CONTACT:
        return contact_report.heard_again(
            finding, look.heard_ns, ended=look.ended, attempt=run.attempt
        )
    step = look.step if run.attempt == finding.attempt else finding.seen_step
    at_ns = max(finding.onset_time_ns, look.event_ns or look.heard_ns)
    return replace(finding, closed_step=step, closed_time_ns=at_ns)
