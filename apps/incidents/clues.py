"""Looks up what the triage card of an incident is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from apps.checkpoints import store as checkpoints
from apps.checkpoints.domain.optimizer import holds_optimizer
from apps.core.records import Finding, NodeEvent
from apps.incidents import store
from apps.incidents.domain import looking
from apps.incidents.domain.clues import (
    Clues,
    ConfigSeen,
    Passage,
    RateSeen,
    ResumeSeen,
    WeightsSeen,
)
from apps.incidents.domain.correlate import FAILURE_KINDS
from apps.incidents.domain.incident import IncidentInfo, IncidentState
from apps.incidents.domain.looking import Series
from apps.incidents.domain.scene import DEFAULT_POLICY as CHECKS
from apps.incidents.domain.summary import struck_at
from apps.incidents.store import clues as clue_store
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.nodes import store as nodes
from apps.runs import said
from apps.runs import store as runs
from apps.runs.domain.config_diff import changed, commit_of, same_order
from apps.runs.domain.pace import median_step_s
from apps.runs.records import AttemptInfo, RunInfo

BEFORE_STEPS, AFTER_STEPS = 4_000, 120
"""Rows around the onset: 400 rows before it of a log with one row per ten steps."""
TAIL_STEPS, SEEN_STEPS = 400, 1_000
MAX_ATTEMPTS, MAX_RUNS, ASKED_RUNS = 3, 5, 20
"""How many other passes are read, and of how many runs the newest attempt is looked at."""
PAST_ROWS = 300
"""Rows before the onset that another pass is read from."""
MAX_EVENTS = 20
MAX_KEYS = 5_000
RELAPSE_STEPS = 1_000
"""An incident further behind an earlier one is another story, not a relapse."""
_MINUTE_NS = 60_000_000_000
_BEFORE_NS, _AFTER_NS = 30 * _MINUTE_NS, 10 * _MINUTE_NS
_QUIET = frozenset({"", "debug", "info", "notice", "normal"})
_EMPTY: Series = (
    np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
)  # fmt: skip


def clues_of(incident: IncidentInfo, findings: Sequence[Finding]) -> Clues:
    """The clues of an incident with at least one finding: kept ones of one that is over.

    Else at most about 45 statements, 20 for a run without siblings, whatever the number of ranks,
    keys, runs and steps; other passes are read 300 rows back.
    """
    if incident.state is IncidentState.RESOLVED:
        kept = clue_store.kept(incident.run_id, incident.id)
        if kept is not None:
            return kept
    return look_up(incident, findings)


def settle(incident: IncidentInfo, state: IncidentState) -> None:
    """Keeps the clues of an incident that has ended, drops those of one that is open again.

    state: what it is from now on; `incident` may be older than that.
    """
    if state is not IncidentState.RESOLVED:
        clue_store.forget(incident.run_id, incident.id)
        return
    findings = store.findings(incident.run_id, incident.id)
    if findings:
        clue_store.keep(incident.run_id, incident.id, look_up(incident, findings))


def look_up(incident: IncidentInfo, findings: Sequence[Finding]) -> Clues:
    """The clues as the tables have them now."""
    scene = _Scene(incident, tuple(findings))
    onset = scene.onset
    placed = runs.placements(scene.run.id, incident.attempt)
    hosts = tuple(sorted({place.node for place in placed.values()}))
    own = scene.own
    return Clues(
        running=own is not None and own.state == "running",
        first_step=own.first_step if own else None,
        newest_step=own.last_step if own else None,
        step_s=scene.step_s(),
        gpus=max(len(placed), scene.run.world_size or 0) or None,
        left_ratio=scene.left_ratio(),
        rate=None if onset is None else _rate(scene, onset),
        config=_config(scene),
        resume=None if onset is None else _resume(scene, onset),
        scale=None if onset is None else looking.scale_seen(scene.of("loss_scale"), onset),
        weights=None if onset is None else _weights(scene, onset),
        nonfinite_rows=_nonfinite(scene),
        passages=() if scene.struck is None else _passages(scene, scene.struck),
        position=scene.struck,
        runs_asked=len(scene.siblings),
        ranks_logged=scene.names.roles.rank_loss is not None,
        layers_logged=scene.layers_logged(),
        hosts=hosts,
        events=_events(incident, hosts),
        tried=() if onset is None else _tried(scene, onset),
    )


@dataclass(frozen=True)
class _Scene:
    """One incident; what is read for it is read once."""

    incident: IncidentInfo
    findings: tuple[Finding, ...]

    @property
    def onset(self) -> int | None:
        return self.incident.onset_step

    @property
    def struck(self) -> int | None:
        return struck_at(self.findings, self.onset)

    @property
    def seen_step(self) -> int:
        """Where the last finding was seen, not too far behind the onset."""
        seen = [f.seen_step for f in self.findings if f.seen_step is not None]
        return min(max(seen, default=0), (self.onset or 0) + SEEN_STEPS)

    @cached_property
    def run(self) -> RunInfo:
        return runs.run_by_id(self.incident.run_id)

    @cached_property
    def attempts(self) -> dict[int, AttemptInfo]:
        return {a.number: a for a in runs.attempts(self.incident.run_id)}

    @property
    def own(self) -> AttemptInfo | None:
        return self.attempts.get(self.incident.attempt)

    @cached_property
    def names(self) -> naming.Known:
        return naming.known(self.incident.run_id)

    @cached_property
    def incidents(self) -> list[IncidentInfo]:
        return store.list_incidents(store.IncidentQuery(run_id=self.incident.run_id, limit=100))

    @cached_property
    def siblings(self) -> list[RunInfo]:
        """Other runs of the project, the newest first."""
        if not self.run.project:
            return []
        newest = runs.newest_runs(self.run.project, limit=ASKED_RUNS + 1)
        return [run for run in newest if run.id != self.run.id][:ASKED_RUNS]

    @cached_property
    def rows(self) -> dict[str, Series]:
        """The series of the roles around the onset, or at the end of an incident without one."""
        end = self.own.last_step if self.own else None
        at = end if self.onset is None else self.onset
        keys = set(self.names.roles.by_role().values())
        if at is None or not keys:
            return {}
        steps = (at - BEFORE_STEPS, max(at, self.seen_step) + AFTER_STEPS)
        return metrics.read_rows(self.run.id, self.incident.attempt, list(keys), *steps)

    def of(self, role: str) -> Series:
        return self.rows.get(self.names.roles.of(role) or "", _EMPTY)

    def before(self, role: str) -> Series:
        """The rows of a role up to the onset."""
        step, time_ns, value = self.of(role)
        end = len(step) if self.onset is None else int(step.searchsorted(self.onset, side="right"))
        return step[:end], time_ns[:end], value[:end]

    def step_s(self) -> float | None:
        step, time_ns, _ = self.before("loss")
        return median_step_s(step[-200:].tolist(), time_ns[-200:].tolist())

    def log_interval(self) -> int:
        """Steps from one logged loss to the next; 10 if unknown."""
        step = self.before("loss")[0][-200:]
        return max(1, int(np.median(np.diff(step)))) if len(step) > 1 else 10

    def left_ratio(self) -> float | None:
        key, own = self.names.roles.loss, self.own
        if key is None or own is None or own.last_step is None or self.onset is None:
            return None
        first = max(self.struck or self.onset, own.last_step - TAIL_STEPS)
        tail = self.rows
        if own.last_step > max(self.onset, self.seen_step) + AFTER_STEPS:
            tail = metrics.read_rows(self.run.id, own.number, [key], first, own.last_step)
        step, _, value = tail.get(key, _EMPTY)
        return looking.left_ratio(self.findings, value[int(step.searchsorted(first)) :])

    def layers_logged(self) -> bool:
        reader = self.names.naming.recogniser()
        return any(reader.recognise(key) is not None for key in self.names.keys[:MAX_KEYS])


def _rate(scene: _Scene, onset: int) -> RateSeen | None:
    return looking.rate_seen(scene.of("lr"), (onset, scene.seen_step), CHECKS.same_steps)


def _weights(scene: _Scene, onset: int) -> WeightsSeen | None:
    found = store.movers(scene.run.id, scene.incident.id)
    keys = scene.names.keys[:MAX_KEYS]
    return looking.weights_seen(found.items, keys, onset) if found else None


def _nonfinite(scene: _Scene) -> int | None:
    if scene.onset is None:
        return None
    return looking.nonfinite_rows([scene.of("loss"), scene.of("grad_norm")], scene.onset)


# -- restarts


def _config(scene: _Scene) -> ConfigSeen | None:
    own = scene.own
    if own is None or own.parent is None:
        return None
    found = said.configs(scene.run.id, [own.parent, own.number])
    before, after = found.get(own.parent), found.get(own.number)
    if before is None or after is None:
        return ConfigSeen(own.parent)
    differing = changed(before, after)
    return ConfigSeen(
        against=own.parent,
        changed=tuple(change.text for change in differing),
        steering=any(change.steering for change in differing),
        commits=(commit_of(before), commit_of(after)),
    )


def _resume(scene: _Scene, onset: int) -> ResumeSeen | None:
    own = scene.own
    if own is None or own.parent is None or own.fork_step is None or own.fork_step > onset:
        return None
    steps = onset - own.fork_step
    near = steps <= CHECKS.resume_steps
    optimizer = _optimizer(scene.run.id, own) if near else None
    return ResumeSeen(own.number, own.fork_step, steps, optimizer)


def _optimizer(run_id: int, own: AttemptInfo) -> bool | None:
    """Whether the newest checkpoint at or before the fork, of an earlier attempt, holds it."""
    fork = own.fork_step or 0
    saved = [c for c in checkpoints.checkpoints(run_id) if c.attempt < own.number]
    saved = [c for c in saved if c.step <= fork]
    if not saved:
        return None
    source = max(saved, key=lambda c: (c.step, c.attempt))
    content = checkpoints.metadata(run_id, source.attempt, source.step)
    return holds_optimizer(source.files, source.framework, content)


def _tried(scene: _Scene, onset: int) -> tuple[int, ...]:
    """First steps of the attempts that went back because of this episode and met it again.

    Both sides of it: later attempts of an older incident, and the attempt of the newest one.
    """
    failed = scene.incident.kind in FAILURE_KINDS
    same = [
        (i.attempt, i.onset_step)
        for i in scene.incidents
        if i.page and i.onset_step is not None and (i.kind in FAILURE_KINDS) == failed
    ]
    same += [
        (i.relapsed_attempt, i.relapsed_step)
        for i in scene.incidents
        if i.relapsed_attempt is not None and i.relapsed_step is not None
    ]
    found = set()
    for attempt, met_at in same:
        fork = scene.attempts[attempt].fork_step if attempt in scene.attempts else None
        if fork is None or met_at < fork or met_at < onset - RELAPSE_STEPS:
            continue
        later = attempt > scene.incident.attempt and fork <= onset
        itself = attempt == scene.incident.attempt and any(
            number < attempt and fork <= step and onset - RELAPSE_STEPS <= step
            for number, step in same
        )
        if (later or itself) and met_at <= onset + RELAPSE_STEPS:
            found.add(fork)
    return tuple(sorted(found))


# -- other passes over the same steps


def _passages(scene: _Scene, onset: int) -> tuple[Passage, ...]:
    """Other attempts of the run, then the newest attempts of other runs, over the same steps.

    Those that were ill before are left out: what they logged there says nothing of the data.
    """
    key = scene.names.roles.loss
    if key is None:
        return ()
    if not scene.siblings and len(scene.attempts) < 2:
        return ()
    steps = looking.window(scene.findings, onset)
    ill = clue_store.ill_since([scene.run.id, *(run.id for run in scene.siblings)])
    others = [a for a in scene.attempts.values() if a.number != scene.incident.attempt]
    found = _judged(scene, key, steps, _over(others, steps, ill)[:MAX_ATTEMPTS])
    beside = runs.newest_attempts([run.id for run in scene.siblings])
    newest = [beside[run.id] for run in scene.siblings if run.id in beside]
    return tuple(found + _judged(scene, key, steps, _over(newest, steps, ill)[:MAX_RUNS]))


def _over(
    attempts: Sequence[AttemptInfo], steps: tuple[int, int], ill: Mapping[tuple[int, int], int]
) -> list[AttemptInfo]:
    """Those that trained the steps and were well before, the newest first."""
    covering = [
        a
        for a in attempts
        if a.first_step is not None
        and a.last_step is not None
        and a.first_step <= steps[0] <= a.last_step
        and ill.get((a.run_id, a.number), steps[1]) >= steps[0]
    ]
    return sorted(covering, key=lambda a: (-a.run_id, -a.number))


def _judged(
    scene: _Scene, key: str, steps: tuple[int, int], attempts: Sequence[AttemptInfo]
) -> list[Passage]:
    runs_by_id = {run.id: run for run in scene.siblings}
    first = steps[0] - min(BEFORE_STEPS, PAST_ROWS * scene.log_interval())
    found = []
    for attempt in attempts:
        rows = metrics.read_rows(attempt.run_id, attempt.number, [key], first, steps[1])
        judged = looking.judge(rows[key], steps) if key in rows else None
        if judged is None:
            continue
        run = runs_by_id.get(attempt.run_id, scene.run)
        own = run.id == scene.run.id
        order = None if own else same_order(scene.run.config, run.config)
        z = judged.z if math.isfinite(judged.z) else None
        passage = Passage(run.key, attempt.number, own, judged.step, z, judged.outlier, order)
        found.append(passage)
    return found


# -- hosts


def _events(incident: IncidentInfo, hosts: Sequence[str]) -> tuple[NodeEvent, ...]:
    """What happened to the hosts around the onset, without mere information."""
    if not hosts:
        return ()
    span = (incident.onset_time_ns - _BEFORE_NS, incident.onset_time_ns + _AFTER_NS)
    heard = nodes.events(hosts, *span)
    return tuple([e for e in heard if e.severity.lower() not in _QUIET][:MAX_EVENTS])
