"""Recorded runs fed to the database, as the writer would write them."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils import timezone

from apps.core.records import MetricRow
from apps.incidents import services as incidents
from apps.ingest.wandb.parse import decode, read_records
from apps.logs import services as logs
from apps.logs import store as log_store
from apps.metrics import services as metrics
from apps.metrics import store as metric_store
from apps.runs import store as runs
from apps.runs.records import PlacementInfo, Progress
from tests.failure_cases import all_files, rank_files, recorded

LATER_NS = 1_800_000_000_000_000_000


def job_rows(run: str) -> list[MetricRow]:
    """The W&B rows of the first start."""
    path = min(recorded(run).glob("wandb/*/run-*.wandb"))
    return list(decode(read_records(path.read_bytes(), final=True).records, now_ns=LATER_NS).rows)


def rank_rows(run: str) -> list[MetricRow]:
    """The per-rank rows that its rank logs print."""
    segments = [file.segment() for file in rank_files(recorded(run))]
    return [row for segment in segments for row in segment.metrics]


def start(run: str) -> int:
    """The run with one attempt and its placements; the run's id."""
    run_id = runs.ensure_run(run)
    runs.open_attempt(run_id, 0, 0)
    found = {
        row.rank: file.node
        for file in rank_files(recorded(run))
        for row in file.segment().metrics
        if row.rank is not None
    }
    places = [PlacementInfo(rank, node, rank % 4) for rank, node in sorted(found.items())]
    runs.record_placements(run_id, 0, places)
    return run_id


def replay(run_id: int, rows: list[MetricRow], step_size: int) -> list[str]:
    """Write and analyse the rows in pieces of `step_size` steps; the changes in order."""
    changes: list[str] = []
    for piece in _pieces(rows, step_size):
        by_kind = {
            ranked: [r for r in piece if (r.rank is not None) == ranked] for ranked in (0, 1)
        }
        for ranked, part in by_kind.items():
            if part:
                metric_store.write_rows(run_id, 0, part, source="log" if ranked else "wandb")
        steps = [row.step for row in piece]
        runs.note_progress(run_id, 0, Progress(min(steps), max(steps)), timezone.now())
        changes += analyse(run_id)
    return changes


def analyse(run_id: int, now_ns: int = LATER_NS) -> list[str]:
    """What the writer does after each commit, without rollbacks and mails."""
    findings = [*metrics.detect(run_id, 0, now_ns), *logs.triage(run_id, 0, now_ns)]
    return [change.change for change in incidents.absorb(run_id, 0, findings, now_ns)]


def write_logs(run: str, run_id: int) -> None:
    """All log files of the first start, whole."""
    for number, file in enumerate(all_files(recorded(run))):
        log_store.write_lines(run_id, 0, file.node, [file.segment()], batch_id=f"b{number}")


def _pieces(rows: list[MetricRow], step_size: int) -> Iterator[list[MetricRow]]:
    ordered = sorted(rows, key=lambda row: row.step)
    for first in range(0, ordered[-1].step + 1, step_size):
        piece = [row for row in ordered if first <= row.step < first + step_size]
        if piece:
            yield piece
