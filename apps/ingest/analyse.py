"""From written rows to findings, incidents, verdicts and mails: one transaction an attempt.

Runs after the data commit, in the process that wrote the data. A process killed in between leaves
the attempt marked as behind; the next writer round or the periodic job does it again, and unique
keys make the repeat harmless.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from apps.alerts import services as alerts
from apps.core import live
from apps.core.clock import now_ns as clock_ns
from apps.core.database import SERVER_TROUBLE
from apps.incidents import services as incidents
from apps.ingest import store
from apps.ingest.pace import Pace
from apps.logs import services as logs
from apps.metrics import services as metrics
from apps.rollbacks import arriving
from apps.rollbacks import services as rollbacks
from apps.runs import store as runs

RETRY_NS = 60_000_000_000
"""When an analysis that failed is tried again."""

ROUND_S = 2.0
"""How long a writer analyses before it reads the stream again, if one analysis does not take more.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """For open pages: newest step, and what may have changed. urgent: a failure was given out that
    lines still change."""

    step: int | None
    what: tuple[str, ...]
    urgent: bool = False


def analyse(run_id: int, attempt: int, now_ns: int) -> Outcome:
    """Brings the findings of an attempt up to date with its rows. Idempotent.

    Holds the run's row, as writing does: they take turns and see each other's whole work.
    """
    with transaction.atomic():
        runs.lock_run(run_id)
        seen = store.analysis_to_do(run_id, attempt, now_ns)
        if seen is None:
            return Outcome(None, ("metrics", "logs"))
        failures = logs.triage(run_id, attempt, now_ns)
        findings = [*metrics.detect(run_id, attempt, now_ns), *failures]
        absorbed = incidents.absorb(run_id, attempt, findings, now_ns)
        for failure in failures:
            runs.mark_failed(run_id, attempt, not failure.facts.get("recovered"))
        absorbed += arriving.arrive(run_id, attempt, now_ns)
        followed = rollbacks.watch(run_id, attempt, now_ns)
        alerts.plan([*absorbed, *followed], now_ns)
        again = logs.look_again_ns(run_id, attempt)
        store.end_analysis(run_id, attempt, seen=seen, now_ns=now_ns, again_at_ns=again)
    what = ["metrics", "logs", "checkpoints", *(["incidents"] if absorbed or followed else [])]
    urgent = any(not failure.facts.get("settled") for failure in failures)
    return Outcome(runs.last_step(run_id, attempt), tuple(what), urgent)


def bring_up_to_date(run_id: int, run_key: str, attempt: int) -> Outcome:
    """Analyses the attempt, tells open pages, and returns the outcome. A failure is kept, shown and
    tried again later.

    A detector that stumbles over odd data must not hold up the data itself. Servers that are away
    still raise.
    """
    started_ns = clock_ns()
    try:
        outcome = analyse(run_id, attempt, started_ns)
    except SERVER_TROUBLE:
        raise
    except Exception as error:
        log.exception("analysis.failed", extra={"run": run_key, "attempt": attempt})
        reason = f"{type(error).__name__}: {error}"
        store.fail_analysis(run_id, attempt, error=reason, again_at_ns=started_ns + RETRY_NS)
        outcome = Outcome(None, ("incidents",))
    live.publish(run_key, step=outcome.step, what=outcome.what)
    return outcome


def bring_all_up_to_date(
    attempts: Iterable[tuple[int, str, int]], pace: Pace, budget_s: float = ROUND_S
) -> int:
    """Analyses (run_id, run_key, attempt) one after the other, at least one, until budget_s is
    used up; how many. The rest, and what rests, stays due."""
    end_s, done = time.monotonic() + budget_s, 0
    for run_id, run_key, attempt in attempts:
        start_s = time.monotonic()
        if done and start_s > end_s:
            break
        if pace.may((run_id, attempt), start_s):
            outcome = bring_up_to_date(run_id, run_key, attempt)
            pace.ended((run_id, attempt), start_s, time.monotonic(), urgent=outcome.urgent)
            done += 1
    return done


def due(now_ns: int) -> list[tuple[int, str, int]]:
    """(run_id, run_key, attempt) whose analysis is behind or asked to be repeated."""
    found = store.analysis_due(now_ns)
    keys = runs.keys({run_id for run_id, _ in found})
    return [(run_id, keys[run_id], attempt) for run_id, attempt in found]
