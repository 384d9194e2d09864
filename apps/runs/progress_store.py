"""What batches say about a run and its attempts, into their rows."""

from __future__ import annotations

from datetime import datetime

from apps.core.sql import execute
from apps.core.times import ns_of
from apps.runs import contact_store
from apps.runs.models import Run
from apps.runs.records import Progress
from apps.runs.said import merge, note_config

STARTED_BY = "wandb/user"
"""Where the configuration says who started the run."""
_WIDEN = """
    UPDATE runs_attempt SET
      first_step = LEAST(first_step, %s), last_step = GREATEST(last_step, %s),
      fork_step = CASE WHEN parent IS NOT NULL THEN LEAST(fork_step, %s) END,
      last_ns = GREATEST(last_ns, %s), last_row_ns = GREATEST(last_row_ns, %s),
      exit_code = coalesce(%s, exit_code)
    WHERE run_id = %s AND number = %s
"""


def _ranges(progress: Progress) -> tuple[int | None, ...]:
    """What _WIDEN takes."""
    first, code = progress.first_step, progress.exit_code
    return first, progress.last_step, first, progress.last_ns, progress.last_row_ns, code


def note_progress(run_id: int, attempt: int, progress: Progress, now: datetime | None) -> list[str]:
    """Widens the attempt's step and time range; the first row of a restart sets its fork step.

    now: when it was received; None: the caller notes that itself (contact_store.note). Ranges only
    ever grow, so the order of batches does not matter. GREATEST and LEAST skip NULL. What was not
    kept, because the run would say more than MAX_SAID_BYTES: "summary", "config".
    """
    if any(value is not None for value in _ranges(progress)):
        execute(_WIDEN, [*_ranges(progress), run_id, attempt])
    if now is not None:
        contact_store.note(run_id, ns_of(now))
    lost = []
    if progress.summary:
        where = "run_id = %s AND number = %s"
        if not merge("runs_attempt", "summary", progress.summary, where, [run_id, attempt]):
            lost.append("summary")
    if not _note_run(run_id, progress):
        lost.append("config")
    elif progress.config:
        note_config(run_id, attempt, progress.config)
    return lost


def _note_run(run_id: int, progress: Progress) -> bool:
    """A project once said stays, and who started it; world size and configuration follow the
    latest statement."""
    if progress.world_size:
        Run.objects.filter(pk=run_id).update(world_size=progress.world_size)
    if progress.project:
        Run.objects.filter(pk=run_id, project="").update(project=progress.project[:200])
    if not progress.config:
        return True
    if user := progress.config.get(STARTED_BY):
        Run.objects.filter(pk=run_id, started_by="").update(started_by=str(user)[:200])
    return merge("runs_run", "config", progress.config, "id = %s", [run_id])
