"""Stopping a run from afar: asked for by a person, told to the process when it next posts."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import audit, require
from apps.core import live
from apps.core.clock import now_ns
from apps.core.errors import AppError, Conflict, NotFound, Refused
from apps.runs import stop_store, store
from apps.runs.domain.stop import Act, StopState, transition
from apps.runs.records import AttemptInfo
from apps.runs.stop_store import NewStop, StopInfo

MAX_REASON = 2_000
MAX_KEY = 128


@dataclass(frozen=True, slots=True)
class StopAsked:
    """What somebody asks for. confirm: the run key as typed by a person."""

    run_key: str
    confirm: str
    reason: str
    idempotency_key: str
    actor: Actor


def request(asked: StopAsked) -> StopInfo:
    """Asks the newest attempt of a run to stop; the same idempotency key gives the same request.

    Raises Forbidden without the scope operate, NotFound, Refused for a wrong confirmation, a
    missing reason or a run that no `wandb` process listens for, Conflict for an attempt that has
    ended or has been asked already.
    """
    require(asked.actor, "operate")
    run = store.get_run(asked.run_key)
    if run is None:
        raise NotFound("no such run", where="run")
    with transaction.atomic():
        store.lock_run(run.id)
        known = stop_store.by_key(run.id, asked.idempotency_key)
        if known is not None:
            return known
        _check_words(asked)
        attempt = _stoppable(run.id)
        new = NewStop(
            attempt=attempt.number,
            idempotency_key=asked.idempotency_key,
            actor=asked.actor.name,
            reason=asked.reason.strip(),
            at_ns=now_ns(),
        )
        stop = stop_store.add(run.id, new)
        _audit(stop, asked.actor, "run.stop_requested", {"state": stop.state.value}, stop.reason)
    live.publish(run.key, step=None, what=["incidents"])
    return stop


def stoppable(run_id: int) -> bool:
    """Whether a request would be taken now."""
    try:
        return _stoppable(run_id).exit_code is None
    except AppError:
        return False


def newest(run_id: int, attempt: int | None) -> StopInfo | None:
    """The newest request to stop an attempt that was not taken back."""
    made = [s for s in stop_store.stops(run_id) if s.attempt == attempt]
    kept = [s for s in made if s.state is not StopState.CANCELLED]
    return kept[-1] if kept else None


def _check_words(asked: StopAsked) -> None:
    if not 0 < len(asked.idempotency_key) <= MAX_KEY:
        raise Refused(f"must have 1 to {MAX_KEY} characters", where="idempotency_key")
    if asked.confirm.strip() != asked.run_key:
        raise Refused("is not the key of this run", where="confirm", hint="type the run key")
    if not 0 < len(asked.reason.strip()) <= MAX_REASON:
        raise Refused(f"must have 1 to {MAX_REASON} characters", where="reason")


def _stoppable(run_id: int) -> AttemptInfo:
    attempt = store.attempt(run_id, None)
    if attempt is None or not stop_store.listens(run_id, _lineage(run_id, attempt.number)):
        raise Refused(
            "no wandb process writes this attempt, so nobody would hear it",
            where="run",
            hint="stop the job in its scheduler",
        )
    if attempt.exit_code is not None:
        raise Conflict(f"attempt {attempt.number} has ended", where="run")
    if any(stop.attempt == attempt.number for stop in stop_store.active(run_id)):
        raise Conflict(f"attempt {attempt.number} has been asked to stop already", where="run")
    return attempt


def _lineage(run_id: int, attempt: int) -> list[int]:
    """The attempt and those whose processes went on as it by themselves."""
    found, before = [attempt], {a.continued_by: a.number for a in store.attempts(run_id)}
    while (earlier := before.get(found[-1])) is not None and earlier not in found:
        found.append(earlier)
    return found


def cancel(run_id: int, number: int, actor: Actor, reason: str = "") -> StopInfo:
    """Takes a request back that nobody was told of. AppError if the process has been told."""
    require(actor, "operate")
    with transaction.atomic():
        store.lock_run(run_id)
        stop = stop_store.get(run_id, number)
        if stop is None:
            raise NotFound("no such request in this run", where="stop")
        _move(stop, Act.CANCEL, now_ns(), actor, reason[:MAX_REASON])
    return stop_store.get(run_id, number) or stop


def deliver(run_id: int, attempt: int, at_ns: int) -> bool:
    """Whether the process that writes `attempt` is to stop; it counts as told from here on.

    Every writer of the attempt is told, at each post until the attempt has ended: an answer may be
    lost. One statement when nothing was asked for.
    """
    asked = {stop.attempt: stop for stop in stop_store.active(run_id)}
    stops = [asked[n] for n in _heirs(run_id, attempt) if n in asked] if asked else []
    if not stops:
        return False
    with transaction.atomic():
        _move(stops[-1], Act.DELIVER, at_ns, SYSTEM, "")
    return True


def _heirs(run_id: int, attempt: int) -> list[int]:
    """The attempt, and those that its processes went on as."""
    found, heirs = [attempt], {a.number: a.continued_by for a in store.attempts(run_id)}
    while (heir := heirs.get(found[-1])) is not None and heir not in found:
        found.append(heir)
    return found


def end(run_id: int, attempt: int, at_ns: int) -> None:
    """The attempt has ended, in the caller's transaction."""
    for stop in stop_store.active(run_id):
        if stop.attempt == attempt:
            _move(stop, Act.END, at_ns, SYSTEM, "")


_WORDS = {
    StopState.DELIVERED: "run.stop_delivered",
    StopState.STOPPED: "run.stopped",
    StopState.OVERTAKEN: "run.stop_overtaken",
    StopState.CANCELLED: "run.stop_cancelled",
}


def _move(stop: StopInfo, act: Act, at_ns: int, actor: Actor, reason: str) -> None:
    after = transition(stop.state, act)
    if after is not None and stop_store.save_state(stop, after, at_ns):
        _audit(stop, actor, _WORDS[after], {"state": after.value}, reason)


def _audit(stop: StopInfo, actor: Actor, action: str, after: dict[str, str], reason: str) -> None:
    before = {} if stop.state.value == after["state"] else {"state": stop.state.value}
    audit(
        actor,
        action,
        f"attempt {stop.attempt}",
        run_id=stop.run_id,
        before=before,
        after=after,
        reason=reason,
    )
