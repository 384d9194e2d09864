"""The queue of evaluations: asked for, planned, leased, ended.

A job is a row. Whoever evaluates holds it by a lease that it renews; every change names the holder,
so that one whose lease was given away changes nothing any more.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import audit, require
from apps.checkpoints import jobs_store as jobs
from apps.checkpoints import marks, store
from apps.checkpoints.domain import evaluating
from apps.checkpoints.domain.evaluating import DEFAULT_LEASE, How, Lease, State
from apps.checkpoints.jobs_store import JobInfo, SuiteInfo
from apps.checkpoints.records import CheckpointInfo
from apps.core import live
from apps.core.errors import AppError, NotFound, Refused
from apps.runs import store as runs

log = logging.getLogger(__name__)

_NS = 1_000_000_000
KEPT_WAITING_S = 7 * 86_400
"""How long retention leaves a checkpoint alone that waits for its evaluation."""
KEPT_BEYOND_S = 3_600
"""And beyond the time of its command."""
PLANNED_FOR = timedelta(days=1)
"""After the last word of a run: its last checkpoints are evaluated too."""


@dataclass(frozen=True, slots=True)
class Leased:
    """A job that this evaluator holds, and what to run for it."""

    job: JobInfo
    suite: SuiteInfo
    run_key: str
    lease: Lease


@dataclass(frozen=True, slots=True)
class Ended:
    """How a try ended. reason: in words, for people. log: what was printed, as far as it is kept.
    log_bytes: all of it."""

    how: How
    reason: str
    exit_code: int | None = None
    log: bytes = b""
    log_bytes: int = 0


def ask(
    run_id: int, attempt: int, step: int, suite_id: int, actor: Actor, *, now_ns: int
) -> JobInfo:
    """Puts a checkpoint into the queue; the job that is there already if it has not ended. Audited.

    Needs the scope operate. NotFound for an unknown checkpoint or suite, Refused for a checkpoint
    that is not whole or a suite of another project.
    """
    require(actor, "operate")
    suite = jobs.suite(suite_id)
    if suite is None or suite.project != runs.run_by_id(run_id).project:
        raise NotFound("this run's project has no such suite", where="suite")
    if not suite.suite.enabled:
        raise Refused(f"the suite {suite.suite.name} is switched off", where="suite")
    checkpoint = store.get(run_id, attempt, step)
    if checkpoint is None:
        raise NotFound(f"attempt {attempt} has no checkpoint at step {step:,}", where="step")
    if not checkpoint.complete:
        raise Refused(f"the checkpoint at step {step:,} is not known to be whole", where="step")
    return _add(run_id, checkpoint, suite, actor, now_ns)


def _add(
    run_id: int, checkpoint: CheckpointInfo, suite: SuiteInfo, actor: Actor, now_ns: int
) -> JobInfo:
    attempt, step = checkpoint.attempt, checkpoint.step
    values = {
        "attempt": attempt,
        "step": step,
        "suite_id": suite.id,
        "suite": suite.suite.name,
        "path": checkpoint.path,
        "digest": checkpoint.digest,
        "asked_by": actor.name[:200],
        "asked_at_ns": now_ns,
        "state": State.WAITING.value,
        "due_ns": now_ns,
    }
    with transaction.atomic():
        runs.lock_run(run_id)
        made = jobs.add_job(run_id, values)
        if made is None:
            known = jobs.active_job(run_id, attempt, step, suite.id)
            return known or _add(run_id, checkpoint, suite, actor, now_ns)
        _keep(made, now_ns + KEPT_WAITING_S * _NS)
        told = {"suite": suite.suite.name}
        where = f"step {step}, attempt {attempt}"
        audit(actor, "evaluation.asked", where, run_id=run_id, after=told)
        transaction.on_commit(lambda: _tell(run_id), robust=True)
        return made


def cancel(run_id: int, job_id: int, actor: Actor, now_ns: int) -> JobInfo:
    """Takes a job back: at once while it waits; one that runs is killed by its evaluator when that
    renews its lease. Twice is once. Audited. Needs the scope operate."""
    require(actor, "operate")
    with transaction.atomic():
        runs.lock_run(run_id)
        info = jobs.job(run_id, job_id, lock=True)
        if info is None:
            raise NotFound(f"this run has no evaluation {job_id}", where="number")
        if not info.active or info.cancelled_by:
            return info
        if info.state is State.WAITING:
            reason = f"taken back by {actor.name}"
            jobs.save(info, state=State.CANCELLED, ended_at_ns=now_ns, reason=reason)
            _let_go(info)
        else:
            jobs.note_wish(info, actor.name)
        audit(actor, "evaluation.cancelled", f"evaluation {job_id}", run_id=run_id)
        transaction.on_commit(lambda: _tell(run_id), robust=True)
        return jobs.job(run_id, job_id) or info


def plan(now_ns: int) -> int:
    """Adds what suites want evaluated by themselves and gives back lost leases; how many jobs could
    start. Without such suites and jobs it costs three statements."""
    give_back(now_ns)
    for suite in jobs.automatic_suites():
        _plan_suite(suite, now_ns)
    return jobs.waiting(now_ns)


def _plan_suite(suite: SuiteInfo, now_ns: int) -> None:
    run_ids = runs.live_runs(suite.project, PLANNED_FOR)
    saved = jobs.complete_since(run_ids, suite.since_ns) if run_ids else []
    if not saved:
        return
    known = jobs.evaluated(run_ids, suite)
    every = suite.suite.every_steps or 1
    for run_id in {run for run, _, _ in saved}:
        # Of a step that several attempts saved the newest counts: the others are abandoned.
        steps = {step: attempt for run, attempt, step in saved if run == run_id}
        done = [step for run, _, step in known if run == run_id]
        for step in evaluating.due(sorted(steps), done, every):
            checkpoint = store.get(run_id, steps[step], step)
            if checkpoint is not None:
                _add_by_itself(run_id, checkpoint, suite, now_ns)


def _add_by_itself(run_id: int, checkpoint: CheckpointInfo, suite: SuiteInfo, now_ns: int) -> None:
    """One that cannot be kept from retention holds up no other."""
    try:
        _add(run_id, checkpoint, suite, SYSTEM, now_ns)
    except AppError as error:
        where = {"run": run_id, "step": checkpoint.step, "reason": str(error)}
        log.warning("evaluation.not_planned", extra=where)


def give_back(now_ns: int) -> int:
    """Ends the tries of evaluators that fell silent; how many."""
    with transaction.atomic():
        lost = jobs.lost_jobs(now_ns)
        for info in lost:
            silent_s = (now_ns - (info.lease_until_ns or now_ns)) / _NS + DEFAULT_LEASE.lease_s
            reason = f"its evaluator {info.evaluator} has said nothing for {silent_s:.0f} s"
            _end(info, Ended(How.LOST, reason), now_ns)
    return len(lost)


def claim(evaluator: str, now_ns: int, lease: Lease = DEFAULT_LEASE) -> Leased | None:
    """The job that waits longest, now held by the caller; None if nothing is due.

    evaluator: name of the process, for people. Jobs that cannot run any more are ended on the way.
    """
    while True:
        with transaction.atomic():
            info = jobs.next_job(now_ns)
            if info is None:
                return None
            suite, obstacle = jobs.suite(info.suite_id), _obstacle(info)
            if suite is None or not suite.suite.enabled:
                obstacle = "its suite is gone or switched off"
            if suite is None or obstacle:
                jobs.save(info, state=State.FAILED, ended_at_ns=now_ns, reason=obstacle)
                transaction.on_commit(_ender(info), robust=True)
                continue
            job = _hold(info, evaluator, now_ns, lease)
        if job is not None:
            held = Leased(job, suite, runs.run_by_id(job.run_id).key, lease)
            if _kept(held, now_ns):
                return held


def _kept(held: Leased, now_ns: int) -> bool:
    """Keeps the checkpoint for the time of the command; ends the job where that cannot be."""
    try:
        _keep(held.job, now_ns + (held.suite.suite.timeout_s + KEPT_BEYOND_S) * _NS)
    except AppError as error:
        finish(held, Ended(How.REFUSED, str(error)), now_ns, lambda: None)
        return False
    return True


def _hold(info: JobInfo, evaluator: str, now_ns: int, lease: Lease) -> JobInfo | None:
    transaction.on_commit(_teller(info.run_id), robust=True)
    return jobs.save(
        info,
        state=State.RUNNING,
        tries=info.tries + 1,
        holder=uuid.uuid4().hex,
        evaluator=evaluator[:200],
        lease_until_ns=now_ns + int(lease.lease_s * _NS),
        started_at_ns=now_ns,
        ended_at_ns=None,
        exit_code=None,
        reason="",
    )


def _obstacle(info: JobInfo) -> str:
    """Why a job cannot start; "" if it can."""
    checkpoint = store.get(info.run_id, info.attempt, info.step)
    if checkpoint is None or not checkpoint.complete:
        return "the checkpoint is not known to be whole any more"
    if checkpoint.digest != info.digest:
        return "the checkpoint was written again since somebody asked"
    return ""


def renew(held: Leased, log: bytes, log_bytes: int, now_ns: int) -> How | None:
    """Keeps the lease and what was printed so far. None: go on. Else end the command: LOST when
    the job is no longer the caller's, CANCELLED when somebody wants it to end."""
    until_ns = now_ns + int(held.lease.lease_s * _NS)
    with transaction.atomic():
        saved = jobs.save(held.job, lease_until_ns=until_ns, log=log, log_bytes=log_bytes)
    if saved is None:
        return How.LOST
    now = jobs.job(held.job.run_id, held.job.id)
    return How.CANCELLED if now is not None and now.cancelled_by else None


def finish(held: Leased, ended: Ended, now_ns: int, record: Callable[[], None]) -> State | None:
    """Ends a try; what became of the job, None if it was no longer the caller's.

    record: writes the result, in the same transaction; called only for a try that is DONE and whose
    checkpoint is still the one it began with.
    """
    run_id = held.job.run_id
    with transaction.atomic():
        info = jobs.job(run_id, held.job.id, lock=True)
        if info is None or info.holder != held.job.holder or info.state is not State.RUNNING:
            return None
        changed = _obstacle(info) if ended.how is How.DONE else ""
        if changed:
            ended = Ended(How.CHANGED, changed, ended.exit_code, ended.log, ended.log_bytes)
        state = _end(info, ended, now_ns)
        if ended.how is How.DONE:
            record()
    return state


def _end(info: JobInfo, ended: Ended, now_ns: int) -> State:
    suite = jobs.suite(info.suite_id)
    how = How.CANCELLED if info.cancelled_by and ended.how is not How.DONE else ended.how
    reason = f"taken back by {info.cancelled_by}" if how is How.CANCELLED else ended.reason
    then = evaluating.after(how, info.tries, suite.suite.tries if suite else 1)
    kept: Mapping[str, object] = {}
    if ended.log_bytes:
        kept = {"log": ended.log, "log_bytes": ended.log_bytes}
    jobs.save(
        info,
        state=then.state,
        tries=info.tries if then.counts else max(0, info.tries - 1),
        due_ns=now_ns + int(then.wait_s * _NS),
        holder="",
        lease_until_ns=None,
        ended_at_ns=now_ns,
        exit_code=ended.exit_code,
        reason=reason[:2_000],
        **kept,
    )
    over = then.state is not State.WAITING
    transaction.on_commit(_ender(info) if over else _teller(info.run_id), robust=True)
    return then.state


def _keep(info: JobInfo, until_ns: int) -> None:
    """Retention must not delete what is evaluated or about to be."""
    reason = f"evaluated by the suite {info.suite}"
    at = (info.attempt, info.step)
    marks.lease(info.run_id, at, f"evaluation {info.id}", until_ns=until_ns, reason=reason)


def _let_go(info: JobInfo) -> None:
    marks.release(info.run_id, (info.attempt, info.step), f"evaluation {info.id}")


def _ender(info: JobInfo) -> Callable[[], None]:
    def end() -> None:
        _let_go(info)
        _tell(info.run_id)

    return end


def _teller(run_id: int) -> Callable[[], None]:
    return lambda: _tell(run_id)


def _tell(run_id: int) -> None:
    live.publish(runs.run_by_id(run_id).key, step=None, what=["checkpoints"])
