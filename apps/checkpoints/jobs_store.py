"""Every statement against suites of evaluations and their jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import zstandard
from django.db import IntegrityError, transaction

from apps.checkpoints.domain.evaluating import ACTIVE, State, Suite
from apps.checkpoints.models import Checkpoint, EvaluationJob, EvaluationResult, EvaluationSuite

MAX_SUITES = 200
MAX_JOBS = 500
MAX_LOG_BYTES = 256 * 1024
"""Of a job: the beginning and the end of what its command printed."""
_ACTIVE = [state.value for state in ACTIVE]


@dataclass(frozen=True, slots=True)
class SuiteInfo:
    """A suite with what pages show."""

    id: int
    project: str
    suite: Suite
    since_ns: int
    version: int
    changed_by: str
    changed_at_ns: int


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A job without its log."""

    run_id: int
    id: int
    attempt: int
    step: int
    suite_id: int
    suite: str
    path: str
    digest: str
    asked_by: str
    asked_at_ns: int
    state: State
    due_ns: int
    tries: int
    holder: str
    evaluator: str
    lease_until_ns: int | None
    cancelled_by: str
    started_at_ns: int | None
    ended_at_ns: int | None
    exit_code: int | None
    reason: str
    log_bytes: int

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ACTIVE


_FIELDS = tuple(JobInfo.__dataclass_fields__)


def suites(project: str) -> list[SuiteInfo]:
    """The suites of a project by name. -- uses one_suite_a_name"""
    rows = EvaluationSuite.objects.filter(project=project).order_by("name")
    return [_suite(row) for row in rows[:MAX_SUITES]]


def automatic_suites() -> list[SuiteInfo]:
    """The suites that evaluate by themselves."""
    rows = EvaluationSuite.objects.filter(enabled=True, every_steps__isnull=False)
    return [_suite(row) for row in rows.order_by("pk")[:MAX_SUITES]]


def suite(suite_id: int) -> SuiteInfo | None:
    """One of them."""
    row = EvaluationSuite.objects.filter(pk=suite_id).first()
    return _suite(row) if row else None


def suite_count(project: str) -> int:
    """How many a project has."""
    return EvaluationSuite.objects.filter(project=project).count()


def name_taken(project: str, name: str, but: int = 0) -> bool:
    """Whether another suite of the project is called so, whatever the capitals."""
    rows = EvaluationSuite.objects.filter(project=project, name__iexact=name)
    return rows.exclude(pk=but).exists()


def add_suite(project: str, values: Mapping[str, Any]) -> int:
    """A new suite's number."""
    return EvaluationSuite.objects.create(project=project, **values).pk


def change_suite(suite_id: int, version: int, values: Mapping[str, Any]) -> bool:
    """False if `version` is no longer the newest."""
    rows = EvaluationSuite.objects.filter(pk=suite_id, version=version)
    return rows.update(version=version + 1, **values) == 1


def remove_suite(suite_id: int) -> None:
    """Its jobs and results stay."""
    EvaluationSuite.objects.filter(pk=suite_id).delete()


def add_job(run_id: int, values: Mapping[str, Any]) -> JobInfo | None:
    """A new job; None if one of the same checkpoint and suite is active."""
    try:
        with transaction.atomic():
            row = EvaluationJob.objects.create(run_id=run_id, **values)
    except IntegrityError:
        return None
    return job(run_id, row.pk[1])


def job(run_id: int, job_id: int, *, lock: bool = False) -> JobInfo | None:
    """One job. -- uses the primary key"""
    rows = EvaluationJob.objects.select_for_update() if lock else EvaluationJob.objects
    return _job(rows.filter(run_id=run_id, id=job_id).values(*_FIELDS).first())


def active_job(run_id: int, attempt: int, step: int, suite_id: int) -> JobInfo | None:
    """The job of a checkpoint and suite that has not ended. -- uses one_active_evaluation"""
    rows = EvaluationJob.objects.filter(
        run_id=run_id, attempt=attempt, step=step, suite_id=suite_id, state__in=_ACTIVE
    )
    return _job(rows.values(*_FIELDS).first())


def jobs(run_id: int, limit: int = 50) -> list[JobInfo]:
    """The newest jobs of a run, newest first. -- uses the primary key"""
    rows = EvaluationJob.objects.filter(run_id=run_id).order_by("-id").values(*_FIELDS)
    return [found for row in rows[: min(limit, MAX_JOBS)] if (found := _job(row))]


def any_running() -> bool:
    """Whether some evaluator works. -- uses ix_evaluation_running"""
    return EvaluationJob.objects.filter(state="running").exists()


def waiting(now_ns: int) -> int:
    """How many jobs could start now. -- uses ix_evaluation_waiting"""
    return EvaluationJob.objects.filter(state="waiting", due_ns__lte=now_ns).count()


def next_job(now_ns: int) -> JobInfo | None:
    """The job that is due longest, locked; those that somebody else holds are passed over.

    -- uses ix_evaluation_waiting
    """
    rows = EvaluationJob.objects.select_for_update(skip_locked=True)
    rows = rows.filter(state="waiting", due_ns__lte=now_ns).order_by("due_ns", "id")
    return _job(rows.values(*_FIELDS).first())


def lost_jobs(now_ns: int) -> list[JobInfo]:
    """Running jobs whose lease is over, locked. -- uses ix_evaluation_running"""
    rows = EvaluationJob.objects.select_for_update(skip_locked=True)
    rows = rows.filter(state="running", lease_until_ns__lt=now_ns).values(*_FIELDS)
    return [found for row in rows[:100] if (found := _job(row))]


def save(info: JobInfo, **changes: Any) -> JobInfo | None:
    """The only place that changes a job: None if its state or holder is no longer that of `info`.

    log: bytes of text; more than MAX_LOG_BYTES are refused by the caller.
    """
    fields: dict[str, Any] = {k: v.value if isinstance(v, State) else v for k, v in changes.items()}
    if "log" in fields:
        fields["log"] = zstandard.ZstdCompressor(level=3).compress(fields["log"])
    rows = EvaluationJob.objects.filter(
        run_id=info.run_id, id=info.id, state=info.state.value, holder=info.holder
    )
    if not rows.update(**fields):
        return None
    known = {name: value for name, value in changes.items() if name in _FIELDS}
    return replace(info, **known)


def log_text(run_id: int, job_id: int) -> str:
    """What the command printed, as far as it is kept; "" if it printed nothing."""
    rows = EvaluationJob.objects.filter(run_id=run_id, id=job_id)
    packed = rows.values_list("log", flat=True).first()
    if not packed:
        return ""
    raw = zstandard.ZstdDecompressor().decompress(bytes(packed), max_output_size=MAX_LOG_BYTES * 2)
    return raw.decode(errors="replace").replace("\0", "\ufffd")


def complete_since(run_ids: Collection[int], since_ns: int) -> list[tuple[int, int, int]]:
    """(run, attempt, step) of complete checkpoints saved from then on, by step. -- uses the primary
    key"""
    rows = Checkpoint.objects.filter(
        run_id__in=list(run_ids), complete=True, saved_at_ns__gte=since_ns
    )
    found = rows.order_by("run_id", "step", "attempt").values_list("run_id", "attempt", "step")
    return list(found[:10_000])


def evaluated(run_ids: Sequence[int], suite: SuiteInfo) -> set[tuple[int, int, int]]:
    """(run, attempt, step) that have a job of the suite or a result of its name. -- uses the
    primary keys"""
    name, ids = suite.suite.name, list(run_ids)
    jobs = EvaluationJob.objects.filter(run_id__in=ids, suite_id=suite.id)
    results = EvaluationResult.objects.filter(run_id__in=ids, suite=name)
    return {
        *jobs.values_list("run_id", "attempt", "step")[:20_000],
        *results.values_list("run_id", "attempt", "step")[:20_000],
    }


def note_wish(info: JobInfo, by: str) -> None:
    """Somebody wants a running job to end; its evaluator hears of it when it renews."""
    rows = EvaluationJob.objects.filter(run_id=info.run_id, id=info.id, state="running")
    rows.update(cancelled_by=by[:200])


def _suite(row: EvaluationSuite) -> SuiteInfo:
    made = Suite(
        name=row.name,
        argv=tuple(row.argv),
        timeout_s=row.timeout_s,
        tries=row.tries,
        every_steps=row.every_steps,
        enabled=row.enabled,
    )
    return SuiteInfo(
        row.pk, row.project, made, row.since_ns, row.version, row.changed_by, row.changed_at_ns
    )


def _job(row: Mapping[str, Any] | None) -> JobInfo | None:
    return JobInfo(**{**row, "state": State(row["state"])}) if row else None
