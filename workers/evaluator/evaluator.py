"""Takes jobs from the queue and sees them through, one at a time."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.db import connection

from apps.accounts.records import Actor
from apps.checkpoints import evaluating, evaluations, suites
from apps.checkpoints.domain import evaluating as domain
from apps.checkpoints.domain.evaluating import DEFAULT_LEASE, How, Lease, State, Subject
from apps.checkpoints.evaluating import Ended, Leased
from apps.checkpoints.evaluations import Pushed
from apps.checkpoints.roots import place_of
from apps.core.clock import now_ns
from apps.core.database import SERVER_TROUBLE
from apps.core.errors import AppError
from workers.evaluator.collecting import Collected, collect
from workers.evaluator.running import Running, Work

STOP = threading.Event()
"""Set when this process is to end: what runs is killed and goes back into the queue."""
FINISH_S, FINISH_AGAIN_S = 1_800.0, 5.0
"""How long the end of a job is tried to be written, and how often."""
EVALUATOR = Actor("system", "evaluator", frozenset({"ingest"}))

log = logging.getLogger(__name__)


def work_all(lease: Lease = DEFAULT_LEASE) -> int:
    """Sees jobs through until none is due; how many."""
    done = 0
    while not STOP.is_set():
        held = evaluating.claim(name(), now_ns(), lease)
        if held is None:
            break
        see_through(held)
        done += 1
    return done


def name() -> str:
    """This process, for people."""
    return f"{socket.gethostname()}/{os.getpid()}"


def see_through(held: Leased) -> State | None:
    """Runs the command of a job and writes what came of it; None if the job went to another."""
    folder = Path(settings.EVALUATIONS_DIR) / f"{held.job.id}-{held.job.holder}"
    where = {"run": held.run_key, "job": held.job.id, "suite": held.job.suite}
    log.info("evaluation.started", extra=where)
    try:
        output = folder / "output"
        output.mkdir(parents=True, mode=0o700)
        ended = _run(held, folder, output)
        collected = collect(output) if ended.how is How.DONE else Collected()
        if collected.problem:
            ended = replace(ended, how=How.NO_RESULT, reason=collected.problem)
        state = _finish(held, ended, collected)
        log.info("evaluation.ended", extra=where | {"how": ended.how.value})
        return state
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _finish(held: Leased, ended: Ended, collected: Collected) -> State | None:
    """Writes the end, however long the database is away: it may have taken hours of GPUs."""
    until = time.monotonic() + FINISH_S
    while True:
        try:
            return evaluating.finish(held, ended, now_ns(), lambda: _record(held, collected))
        except AppError as error:
            ended = replace(ended, how=How.NO_RESULT, reason=str(error))
        except SERVER_TROUBLE:
            connection.close()
            if time.monotonic() > until:
                raise
            time.sleep(FINISH_AGAIN_S)


def _run(held: Leased, folder: Path, output: Path) -> Ended:
    job, suite = held.job, held.suite.suite
    subject = Subject(job.path, job.step, job.attempt, held.run_key, str(output), suite.name)
    try:
        place_of(job.path)
        argv = domain.command(suite, subject, suites.programs())
    except AppError as error:
        return Ended(How.REFUSED, str(error))
    work = Work(argv, folder, _environment(held, folder, output), suite.timeout_s, held.lease)
    return Running(work, lambda text, size: _renew(held, text, size), STOP).end()


def _environment(held: Leased, folder: Path, output: Path) -> dict[str, str]:
    """What the command may know of ours: the names that the operator lists, and its job."""
    allowed = {n: os.environ[n] for n in settings.EVALUATION_ENV if n in os.environ}
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        **allowed,
        "LASTGOOD_RUN": held.run_key,
        "LASTGOOD_ATTEMPT": str(held.job.attempt),
        "LASTGOOD_STEP": str(held.job.step),
        "LASTGOOD_CHECKPOINT": held.job.path,
        "LASTGOOD_OUTPUT": str(output),
    }


def _renew(held: Leased, text: bytes, size: int) -> How | None:
    try:
        return evaluating.renew(held, text, size, now_ns())
    except Exception:
        connection.close()  # the next try shall not meet a dead connection
        raise


def _record(held: Leased, collected: Collected) -> None:
    job = held.job
    pushed = Pushed(
        suite=job.suite,
        step=job.step,
        attempt=job.attempt,
        measured=collected.measured,
        source=collected.tool,
        model=collected.model,
        left_out=collected.left_out,
    )
    evaluations.record(job.run_id, pushed, EVALUATOR, now_ns())
