"""Speed and evaluations of a run, judged as rows come: what hurts a training without its loss."""

from __future__ import annotations

import logging

import msgspec

from apps.core.errors import AppError
from apps.core.records import Finding
from apps.metrics import store
from apps.metrics.domain import evaluation, throughput
from apps.metrics.domain.evaluation import EvaluationState
from apps.metrics.domain.roles import FROM_LOG, Roles
from apps.metrics.domain.throughput import SpeedSeries, ThroughputState
from apps.metrics.look import Look
from apps.metrics.store.detectors import DetectorState
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

WATCHING = "watching"
Row = tuple[int, int, float]
_VERSION = 1

log = logging.getLogger(__name__)


class State(msgspec.Struct):
    """Of one attempt."""

    version: int = _VERSION
    speed: ThroughputState | None = None
    evaluations: EvaluationState | None = None


def speed_of(roles: Roles) -> SpeedSeries | None:
    """The series that tells how fast the training is; the one that somebody logs before one that
    was read from log lines, tokens before seconds."""
    known = [(roles.tokens_per_s, False), (roles.step_time, True)]
    found = [SpeedSeries(name, inverted) for name, inverted in known if name]
    return min(found, key=lambda series: series.name.startswith(FROM_LOG), default=None)


def watch(look: Look, from_step: int) -> list[Finding]:
    """What is new about speed and evaluations since the last call, in the caller's transaction.

    from_step: where new rows of the loss begin; evaluations are read from the last ones that were
    judged, because they often come in rows of their own. Rows that come late, before what was
    judged, are not judged: these detectors look for what lasts. No statement for a run that logs
    neither; else at most 12, about 25 us a row and 75 us an evaluation.
    """
    run_id, attempt, roles = look.run_id, look.attempt, look.roles
    speed = speed_of(roles)
    keys = evaluation.evaluations(look.names.keys, roles.eval_loss)
    if speed is None and not keys:
        return []
    stored = store.lock_detector(run_id, attempt, WATCHING)
    state = _load(stored.state) or _begun(run_id, attempt)
    planned = look.planned
    found: list[Finding] = []
    if speed is not None:
        if state.speed is None or state.speed.series != speed.name:
            state.speed = throughput.begin(state.speed, speed.name, attempt)
        sizes = {roles.of(kind): kind for kind in throughput.SIZES if roles.of(kind)}
        rows = _rows(run_id, attempt, [speed.name, *filter(None, sizes)], from_step)
        throughput.note_sizes(
            state.speed, {kind: rows[name] for name, kind in sizes.items() if name in rows}
        )
        found += throughput.feed(state.speed, speed, rows.get(speed.name, []), planned)
    if keys:
        state.evaluations = state.evaluations or EvaluationState(attempt)
        first = evaluation.unread_from(state.evaluations, keys, from_step)
        found += evaluation.feed(state.evaluations, _rows(run_id, attempt, keys, first), planned)
    dump = msgspec.msgpack.encode(state)
    store.save_detector(run_id, attempt, WATCHING, DetectorState(from_step, dump))
    return found


def _rows(run_id: int, attempt: int, names: list[str], first: int) -> dict[str, list[Row]]:
    series = store.read_rows(run_id, attempt, names, first)
    return {
        name: list(zip(*(part.tolist() for part in parts), strict=True))
        for name, parts in series.items()
    }


def _begun(run_id: int, attempt: int) -> State:
    """The state of a new attempt: what was usual for the one it came from."""
    lineage = {info.number: info for info in runs.attempts(run_id)}
    own = lineage.get(attempt)
    if own is None or own.parent is None:
        return State()
    parent = _load(store.detector_state(run_id, own.parent, WATCHING)) or State()
    speed = None if _other_size(run_id, own) else parent.speed
    return State(
        speed=speed and throughput.begin(speed, speed.series, attempt),
        evaluations=evaluation.begin(parent.evaluations, attempt, own.fork_step),
    )


def _other_size(run_id: int, own: AttemptInfo) -> bool:
    """Whether the attempt runs on another number of ranks than its parent: another speed."""
    before = len(runs.placements(run_id, own.parent or 0))
    now = len(runs.placements(run_id, own.number))
    return bool(before and now and before != now)


def _load(stored: bytes | None) -> State | None:
    """None if there is none, or if another program wrote it: it begins anew with the next row."""
    if not stored:
        return None
    try:
        state = msgspec.msgpack.decode(stored, type=State)
    except (msgspec.DecodeError, AppError) as error:
        log.warning("metrics.detector_state_refused", extra={"reason": str(error)})
        return None
    return state if state.version == _VERSION else None
