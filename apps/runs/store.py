"""Every statement against the tables of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.db import connection
from django.db.models import F, Max
from django.db.models.functions import Coalesce, Greatest, Least
from django.utils import timezone

from apps.runs.domain.state import run_state
from apps.runs.models import Attempt, Launch, Placement, Run
from apps.runs.records import AttemptInfo, LaunchSeen, PlacementInfo, Progress, RunInfo

MAX_FOLLOWED = 1_000


def ensure_run(key: str) -> int:
    """The id of run `key`, which is made when it does not exist."""
    return Run.objects.get_or_create(key=key)[0].pk


def lock_run(run_id: int) -> None:
    """Holds the run's row until the transaction ends: one placement at a time."""
    Run.objects.select_for_update().get(pk=run_id)


def _newest(run_ids: Sequence[int]) -> dict[int, Attempt]:
    """run_id -> its newest attempt. -- uses the primary key"""
    rows = Attempt.objects.filter(run_id__in=list(run_ids)).order_by("run_id", "number")
    return {row.run_id: row for row in rows}


def _info(run: Run, newest: Attempt | None, now: datetime) -> RunInfo:
    age = (now - run.last_contact_at).total_seconds() if run.last_contact_at else None
    state = run_state(
        exit_code=newest.exit_code if newest else None,
        failed=bool(newest and newest.failed),
        last_contact_age_s=age,
    )
    return RunInfo(
        id=run.pk,
        key=run.key,
        project=run.project,
        state=state,
        world_size=run.world_size,
        config=run.config,
        created_at=run.created_at,
        last_contact_at=run.last_contact_at,
        last_step=newest.last_step if newest else None,
    )


def get_run(key: str) -> RunInfo | None:
    """The run called `key`. -- uses the unique key"""
    run = Run.objects.filter(key=key).first()
    return _info(run, _newest([run.pk]).get(run.pk), timezone.now()) if run else None


def run_by_id(run_id: int) -> RunInfo:
    """The run with this id; Run.DoesNotExist if there is none."""
    run = Run.objects.get(pk=run_id)
    return _info(run, _newest([run_id]).get(run_id), timezone.now())


def run_id_of(key: str) -> int | None:
    """The id of run `key`."""
    return Run.objects.filter(key=key).values_list("pk", flat=True).first()


def list_runs(limit: int = 50, before: int | None = None) -> list[RunInfo]:
    """Newest first, keyset by id. -- uses the primary key"""
    rows = Run.objects.order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    page = list(rows[: min(limit, 200)])
    newest, now = _newest([run.pk for run in page]), timezone.now()
    return [_info(run, newest.get(run.pk), now) for run in page]


def _attempt_state(row: Attempt, newest: int) -> str:
    if row.failed:
        return "failed"
    if row.number < newest:
        return "ended"
    if row.exit_code is None:
        return "running"
    return "stopped" if row.exit_code else "finished"


def attempts(run_id: int) -> list[AttemptInfo]:
    """All attempts of a run, oldest first. -- uses the primary key"""
    rows = list(Attempt.objects.filter(run_id=run_id).order_by("number")[:MAX_FOLLOWED])
    newest = rows[-1].number if rows else -1
    return [
        AttemptInfo(
            run_id=run_id,
            number=row.number,
            parent=row.parent,
            fork_step=row.fork_step,
            first_step=row.first_step,
            last_step=row.last_step,
            started_ns=row.started_ns,
            last_ns=row.last_ns,
            state=_attempt_state(row, newest),
            exit_code=row.exit_code,
            last_row_ns=row.last_row_ns,
        )
        for row in rows
    ]


def open_attempt(run_id: int, number: int, started_ns: int) -> None:
    """Adds attempt `number`, child of the one before it."""
    Attempt.objects.get_or_create(
        run_id=run_id,
        number=number,
        defaults={"started_ns": started_ns, "parent": number - 1 if number else None},
    )


def continue_as(run_id: int, number: int, successor: int) -> None:
    """Later batches of `number`'s processes belong to `successor`."""
    Attempt.objects.filter(run_id=run_id, number=number).update(continued_by=successor)


def current_attempt(run_id: int, number: int | None) -> int | None:
    """Where a batch for attempt `number` goes now; None: the newest; None if there is none."""
    if number is None:
        newest: int | None = Attempt.objects.filter(run_id=run_id).aggregate(n=Max("number"))["n"]
        return newest
    for _ in range(MAX_FOLLOWED):
        found = Attempt.objects.filter(run_id=run_id, number=number).values_list("continued_by")
        successor = found.first()
        if successor is None or successor[0] is None:
            return number
        number = successor[0]
    return number


def launches(run_id: int) -> list[tuple[str, str, int]]:
    """(slot, launch, attempt) of every start of the run."""
    return list(Launch.objects.filter(run_id=run_id).values_list("slot", "launch", "attempt"))


def add_launch(run_id: int, attempt: int, launch: LaunchSeen) -> None:
    """Remembers a start. An earlier time moves the attempt's start back."""
    Launch.objects.create(
        run_id=run_id,
        attempt=attempt,
        slot=launch.slot,
        launch=launch.launch,
        started_ns=launch.started_ns,
        node=launch.node,
        resume_step=launch.resume_step,
    )
    Attempt.objects.filter(run_id=run_id, number=attempt).update(
        started_ns=Least(F("started_ns"), launch.started_ns)
    )


def note_progress(run_id: int, attempt: int, progress: Progress, now: datetime) -> None:
    """Widens the attempt's step and time range; first row of a restart sets its fork step."""
    row = Attempt.objects.filter(run_id=run_id, number=attempt)
    for name in ("last_ns", "last_row_ns"):
        value = getattr(progress, name)
        if value is not None:
            row.update(**{name: Greatest(Coalesce(F(name), value), value)})
    if progress.first_step is not None and progress.last_step is not None:
        first, last = progress.first_step, progress.last_step
        row.update(
            first_step=Least(Coalesce(F("first_step"), first), first),
            last_step=Greatest(Coalesce(F("last_step"), last), last),
        )
        row.filter(parent__isnull=False, fork_step=None).update(fork_step=first)
    if progress.exit_code is not None:
        row.update(exit_code=progress.exit_code)
    Run.objects.filter(pk=run_id).update(last_contact_at=now)
    if progress.project:
        Run.objects.filter(pk=run_id, project="").update(project=progress.project[:200])
    if progress.world_size:
        Run.objects.filter(pk=run_id).update(world_size=progress.world_size)
    if progress.config:
        _merge("runs_run", "config", progress.config, "id = %s", [run_id])
    if progress.summary:
        where = "run_id = %s AND number = %s"
        _merge("runs_attempt", "summary", progress.summary, where, [run_id, attempt])


def _merge(
    table: str, column: str, values: Mapping[str, Any], where: str, key: Sequence[int]
) -> None:
    """Adds keys to a JSON column; a later value wins. Names come from this module only."""
    sql = f"UPDATE {table} SET {column} = {column} || %s::jsonb WHERE {where}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [orjson.dumps(dict(values)).decode(), *key])


def mark_failed(run_id: int, attempt: int) -> None:
    """A finding with evidence says that this attempt died."""
    Attempt.objects.filter(run_id=run_id, number=attempt).update(failed=True)


def record_placements(run_id: int, attempt: int, placements: Sequence[PlacementInfo]) -> None:
    """Adds or refines where ranks run; a later statement wins, None never overwrites."""
    sql = """
        INSERT INTO runs_placement (run_id, attempt, rank, node, local_rank, device)
        VALUES (%s, %s, %s, %s, %s, %s)
        ON CONFLICT (run_id, attempt, rank) DO UPDATE SET
          node = EXCLUDED.node,
          local_rank = COALESCE(EXCLUDED.local_rank, runs_placement.local_rank),
          device = COALESCE(EXCLUDED.device, runs_placement.device)
    """
    rows = [(run_id, attempt, p.rank, p.node, p.local_rank, p.device) for p in placements]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(sql, rows)


def placements(run_id: int, attempt: int) -> dict[int, PlacementInfo]:
    """rank -> where it runs, in one attempt. -- uses the primary key"""
    rows = Placement.objects.filter(run_id=run_id, attempt=attempt).order_by("rank")
    return {row.rank: PlacementInfo(row.rank, row.node, row.local_rank, row.device) for row in rows}


def attempt_of_resume(run_id: int, step: int, after: int) -> int | None:
    """The newest attempt above `after` with a start that said it resumes from `step`."""
    found = Launch.objects.filter(run_id=run_id, resume_step=step, attempt__gt=after)
    newest: int | None = found.aggregate(n=Max("attempt"))["n"]
    return newest


def last_step(run_id: int, attempt: int) -> int | None:
    """The newest step of an attempt. -- uses the primary key"""
    found = Attempt.objects.filter(run_id=run_id, number=attempt)
    return found.values_list("last_step", flat=True).first()
