"""Every statement against the tables of runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import F, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Least
from django.utils import timezone

from apps.core.sql import query
from apps.core.times import ns_of
from apps.runs.domain.contact import lag_s
from apps.runs.domain.state import run_state
from apps.runs.models import Attempt, Contact, Launch, Placement, Run, Watch
from apps.runs.progress_store import note_progress as note_progress
from apps.runs.records import (
    AttemptInfo,
    EndedWell,
    LaunchSeen,
    PlacementInfo,
    RunInfo,
    Start,
)

MAX_ATTEMPTS = 1_000
LIVE = timedelta(hours=1)

_TOLD = (
    "run_id", "number", "parent", "fork_step", "first_step", "last_step", "started_ns", "last_ns",
    "last_row_ns", "exit_code", "failed", "continued_by",
)  # fmt: skip
"""The columns of an attempt without its summary, which may be large."""


def ensure_run(key: str) -> int:
    """The id of run `key`, which is made when it does not exist."""
    return Run.objects.get_or_create(key=key)[0].pk


def lock_run(run_id: int) -> None:
    """Holds the run's row until the transaction ends; whoever changes what belongs to a run takes
    it first. Run.DoesNotExist if there is none."""
    if not query("SELECT 1 FROM runs_run WHERE id = %s FOR UPDATE", [run_id]):
        raise Run.DoesNotExist(f"run {run_id}")


def lock_runs(run_ids: Collection[int]) -> None:
    """The same for several runs, in the order of their ids: no two writers wait in a circle."""
    query("SELECT 1 FROM runs_run WHERE id = ANY(%s) ORDER BY id FOR UPDATE", [list(run_ids)])


def owner(run_id: int) -> str:
    """Who has taken the run, "" for nobody."""
    return str(Run.objects.values_list("owner", flat=True).get(pk=run_id))


def set_owner(run_id: int, owner: str) -> None:
    """Who has taken the run from now on, "" for nobody."""
    Run.objects.filter(pk=run_id).update(owner=owner)


def _runs() -> QuerySet[Run]:
    """Runs with what is known of their contact. -- uses the primary key of contacts"""
    contact = Contact.objects.filter(run_id=OuterRef("pk"))
    look = Watch.objects.filter(id=1)
    told = {name: contact.values(name) for name in ("heard_ns", "limit_s", "usual_s")}
    told |= {name: look.values(name) for name in ("looked_ns", "judged_ns")}
    return Run.objects.annotate(**{name: Subquery(rows[:1]) for name, rows in told.items()})


def _newest(run_ids: Sequence[int]) -> dict[int, Attempt]:
    """run_id -> its newest attempt. -- uses the primary key"""
    rows = Attempt.objects.filter(run_id__in=list(run_ids))
    newest = rows.order_by("-run_id", "-number").distinct("run_id")
    return {row.run_id: row for row in newest}


def _info(run: Any, newest: Attempt | None, now: datetime) -> RunInfo:
    heard_at = None if run.heard_ns is None else datetime.fromtimestamp(run.heard_ns / 1e9, UTC)
    lag = lag_s(ns_of(now), run.looked_ns, run.judged_ns)
    age = (now - heard_at).total_seconds() - lag if heard_at else None
    state = run_state(
        exit_code=newest.exit_code if newest else None,
        failed=bool(newest and newest.failed),
        last_contact_age_s=age,
        silence_s=run.limit_s,
    )
    return RunInfo(
        id=run.pk,
        key=run.key,
        project=run.project,
        state=state,
        world_size=run.world_size,
        config=run.config,
        created_at=run.created_at,
        last_contact_at=heard_at,
        last_step=newest.last_step if newest else None,
        silence_s=run.limit_s,
        usual_gap_s=run.usual_s,
        lag_s=lag,
        started_by=run.started_by,
        owner=run.owner,
    )


def get_run(key: str) -> RunInfo | None:
    """The run called `key`. -- uses the unique key"""
    run = _runs().filter(key=key).first()
    return _info(run, _newest([run.pk]).get(run.pk), timezone.now()) if run else None


def run_by_id(run_id: int) -> RunInfo:
    """The run with this id; Run.DoesNotExist if there is none."""
    run = _runs().get(pk=run_id)
    return _info(run, _newest([run_id]).get(run_id), timezone.now())


def config_of(run_id: int) -> dict[str, Any]:
    """The configuration of a run, {} if there is none. -- uses the primary key"""
    found: dict[str, Any] | None = (
        Run.objects.filter(pk=run_id).values_list("config", flat=True).first()
    )
    return found or {}


def by_id(run_ids: Collection[int]) -> dict[int, RunInfo]:
    """run id -> run, of those that are there. -- uses the primary key"""
    rows = list(_runs().filter(pk__in=run_ids))
    newest, now = _newest([run.pk for run in rows]), timezone.now()
    return {run.pk: _info(run, newest.get(run.pk), now) for run in rows}


def keys(run_ids: Collection[int]) -> dict[int, str]:
    """run_id -> key. -- uses the primary key"""
    return dict(Run.objects.filter(pk__in=run_ids).values_list("pk", "key"))


def labels(run_ids: Collection[int], key: str) -> dict[int, tuple[str, Any]]:
    """run id -> (project, the value of one key of the configuration, None if it has none), without
    the rest of the configuration. -- uses the primary key"""
    rows = Run.objects.filter(pk__in=run_ids)
    found = rows.values_list("pk", "project", KeyTransform(key, "config"))
    return {run_id: (project, value) for run_id, project, value in found}


def list_runs(limit: int = 50, before: int | None = None) -> list[RunInfo]:
    """Newest first, keyset by id. -- uses the primary key"""
    rows = _runs().order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    page = list(rows[: min(limit, 200)])
    newest, now = _newest([run.pk for run in page]), timezone.now()
    return [_info(run, newest.get(run.pk), now) for run in page]


def projects(limit: int = 1_000) -> list[tuple[str, datetime]]:
    """(name, when its first run was made), by name; "" for runs without one."""
    rows = Run.objects.values("project").annotate(first=Min("created_at")).order_by("project")
    return list(rows.values_list("project", "first")[:limit])


def project_runs(project: str, after: int = 0, limit: int = 500) -> list[RunInfo]:
    """Runs of a project in the order they were made, keyset by id. -- uses ix_run_project"""
    rows = _runs().filter(project=project, pk__gt=after).order_by("pk")
    page = list(rows[: min(limit, 500)])
    newest, now = _newest([run.pk for run in page]), timezone.now()
    return [_info(run, newest.get(run.pk), now) for run in page]


def summaries(run_ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """run_id -> summary of its newest attempt that has one. -- uses the primary key"""
    rows = Attempt.objects.filter(run_id__in=run_ids).exclude(summary={})
    newest = rows.order_by("-run_id", "-number").distinct("run_id")
    return dict(newest.values_list("run_id", "summary"))


def live_runs(project: str, within: timedelta = LIVE, limit: int = 200) -> list[int]:
    """The runs of a project that were heard of lately, by id. -- uses ix_run_project"""
    since_ns = ns_of(timezone.now() - within)
    heard = Contact.objects.filter(heard_ns__gte=since_ns)
    rows = Run.objects.filter(project=project, pk__in=heard.values("run_id"))
    return list(rows.order_by("pk").values_list("pk", flat=True)[:limit])


def newest_runs(project: str, limit: int = 5) -> list[RunInfo]:
    """The newest runs of a project, newest first. -- uses ix_run_project"""
    rows = list(_runs().filter(project=project).order_by("-pk")[:limit])
    newest, now = _newest([run.pk for run in rows]), timezone.now()
    return [_info(run, newest.get(run.pk), now) for run in rows]


def _attempt_state(row: Attempt, newest: int) -> str:
    if row.failed:
        return "failed"
    if row.number < newest:
        return "ended"
    if row.exit_code is None:
        return "running"
    return "stopped" if row.exit_code else "finished"


def _attempt_info(row: Attempt, newest: int) -> AttemptInfo:
    return AttemptInfo(
        run_id=row.run_id,
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
        continued_by=row.continued_by,
    )


def newest_attempts(run_ids: Collection[int]) -> dict[int, AttemptInfo]:
    """run id -> its newest attempt. -- uses the primary key"""
    found = _newest(list(run_ids))
    return {run_id: _attempt_info(row, row.number) for run_id, row in found.items()}


def attempts(run_id: int) -> list[AttemptInfo]:
    """The newest MAX_ATTEMPTS attempts of a run, oldest first. -- uses the primary key"""
    rows = list(Attempt.objects.filter(run_id=run_id).order_by("-number")[:MAX_ATTEMPTS])
    return [_attempt_info(row, rows[0].number) for row in reversed(rows)]


def attempt(run_id: int, number: int | None) -> AttemptInfo | None:
    """One attempt, or the newest; None if there is none. -- uses the primary key"""
    newest = "(SELECT max(number) FROM runs_attempt WHERE run_id = %s)"
    sql = (
        f"SELECT {', '.join(_TOLD)}, {newest} FROM runs_attempt"  # noqa: S608
        f" WHERE run_id = %s AND number = coalesce(%s, {newest})"
    )
    for *told, last in query(sql, [run_id, run_id, number, run_id]):
        return _attempt_info(Attempt(**dict(zip(_TOLD, told, strict=True))), last)
    return None


def open_attempt(
    run_id: int, number: int, started_ns: int, *, parent: int | None = None
) -> AttemptInfo:
    """Adds attempt `number`, child of `parent` or of the one before it; one that exists stays."""
    if parent is None:
        earlier = Attempt.objects.filter(run_id=run_id, number__lt=number)
        parent = earlier.aggregate(n=Max("number"))["n"]
    row, _ = Attempt.objects.get_or_create(
        run_id=run_id, number=number, defaults={"started_ns": started_ns, "parent": parent}
    )
    return _attempt_info(row, number)


def continue_as(run_id: int, number: int, heir: int) -> None:
    """Later batches of `number`'s processes belong to attempt `heir`."""
    Attempt.objects.filter(run_id=run_id, number=number).update(continued_by=heir)


def branch_off(run_id: int, number: int, parent: int, fork_step: int) -> bool:
    """Attempt `number` goes on from `parent`, whose steps from fork_step on are given up.

    False if that is known already, or if `parent` is no earlier attempt of the run.
    """
    earlier = Attempt.objects.filter(run_id=run_id, number=parent)
    if parent >= number or not earlier.exists():
        return False
    known = Q(parent=parent, fork_step__lte=fork_step)
    rows = Attempt.objects.filter(run_id=run_id, number=number).exclude(known)
    return bool(rows.update(parent=parent, fork_step=Least(F("fork_step"), fork_step)))


def begin_earlier(run_id: int, number: int, started_ns: int) -> None:
    """Moves the start of an attempt back, never forward."""
    Attempt.objects.filter(run_id=run_id, number=number).update(
        started_ns=Least(F("started_ns"), started_ns)
    )


def launch_attempt(run_id: int, launch: LaunchSeen) -> int | None:
    """The attempt this start was given before. -- uses the primary key"""
    known = Launch.objects.filter(run_id=run_id, slot=launch.slot, launch=launch.launch)
    return known.values_list("attempt", flat=True).first()


def knows_slot(run_id: int, prefix: str) -> bool:
    """Whether a slot that begins so has a start. -- uses the primary key"""
    return Launch.objects.filter(run_id=run_id, slot__startswith=prefix).exists()


def starts(run_id: int, slot: str) -> list[Start]:
    """Starts of the slot, and all of the newest attempt.

    -- uses the primary key, one_start_a_slot
    """
    newest = Attempt.objects.filter(run_id=run_id).order_by("-number").values("number")[:1]
    rows = Launch.objects.filter(run_id=run_id).filter(Q(slot=slot) | Q(attempt=Subquery(newest)))
    return [Start(*row) for row in rows.values_list("attempt", "slot", "resume_step")]


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
    begin_earlier(run_id, attempt, launch.started_ns)


def summary(run_id: int, attempt: int) -> dict[str, Any]:
    """The summary of one attempt. -- uses the primary key"""
    found = Attempt.objects.filter(run_id=run_id, number=attempt)
    return found.values_list("summary", flat=True).first() or {}


def end_attempt(run_id: int, attempt: int, exit_code: int) -> None:
    """The attempt has ended; nothing was heard of it just now."""
    Attempt.objects.filter(run_id=run_id, number=attempt).update(exit_code=exit_code)


def mark_failed(run_id: int, attempt: int, failed: bool) -> None:
    """Whether a finding with evidence says that this attempt died."""
    Attempt.objects.filter(run_id=run_id, number=attempt).update(failed=failed)


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


def rank_count(run_id: int, attempt: int) -> int:
    """How many ranks an attempt has: the world size that was said or the ranks that are placed,
    whichever is more; 0 if unknown. -- uses the primary keys"""
    placed = Placement.objects.filter(run_id=run_id, attempt=attempt).count()
    said = Run.objects.filter(pk=run_id).values_list("world_size", flat=True).first()
    return max(placed, said or 0)


def node_count(run_id: int, attempt: int) -> int:
    """How many nodes the placed ranks of an attempt run on. -- uses the primary key"""
    placed = Placement.objects.filter(run_id=run_id, attempt=attempt)
    return placed.values("node").distinct().count()


def resume_steps(run_id: int) -> dict[int, int]:
    """attempt -> the step it said it resumes from, of those that said one; the lowest that any of
    its sources said. -- uses one_start_a_slot"""
    rows = Launch.objects.filter(run_id=run_id, resume_step__isnull=False)
    return dict(rows.values_list("attempt").annotate(Min("resume_step")))


def ended_well(before_ns: int, limit: int) -> list[EndedWell]:
    """The newest attempts that ended with exit code 0 and said nothing since before_ns.

    -- uses ix_attempt_ended_well
    """
    sql = """
        SELECT a.run_id, a.number, r.project, a.last_ns
          FROM runs_attempt AS a JOIN runs_run AS r ON r.id = a.run_id
         WHERE a.exit_code = 0 AND NOT a.failed AND a.last_ns <= %s
         ORDER BY a.last_ns DESC LIMIT %s
    """
    return [EndedWell(*row) for row in query(sql, [before_ns, limit])]


def last_step(run_id: int, attempt: int) -> int | None:
    """The newest step of an attempt. -- uses the primary key"""
    sql = "SELECT last_step FROM runs_attempt WHERE run_id = %s AND number = %s"
    return next((step for (step,) in query(sql, [run_id, attempt])), None)
