"""What a body says of its attempt as a whole: its summary, and whether it is through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction

from apps.ingest.wandb import process_store as processes
from apps.ingest.wandb.lines import SUMMARY, StreamBatch, summary_of
from apps.ingest.wandb.process_store import Copy, Process
from apps.ingest.wandb.store import Writer
from apps.runs import stops
from apps.runs import store as runs
from apps.runs.records import Progress

SILENT_NS: Final = 60_000_000_000
"""A process that lives posts at least every 30 s."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The attempt a body went to, and when it was received."""

    attempt: int
    now_ns: int


def note_progress(writer: Writer, copy: Copy | None, batch: StreamBatch, to: Settled) -> list[str]:
    """Merges the summary and ends the attempt, if the sender is one that may say so; what of it was
    too much to keep.

    Of several writers the last one ends it. A synced copy says what its process said, however much
    later: it ends nothing that still runs, and no older summary replaces a newer one.
    """
    run_id, attempt = writer.run_id, to.attempt
    lines = next((piece.lines for piece in batch.pieces if piece.file == SUMMARY), ())
    summary: Mapping[str, Any] = summary_of(lines)
    exit_code = batch.exit_code
    if copy is not None and not copy.own:
        summary = _newer(summary, runs.summary(run_id, attempt))
        exit_code = None if _lives(writer, to.now_ns) else exit_code
    elif exit_code is not None and processes.end_process(
        run_id, writer.attempt, writer.name, exit_code
    ):
        ended = end_of(processes.processes(run_id, writer.attempt), to.now_ns)
        processes.await_others(run_id, writer.attempt, awaits=ended is None)
        exit_code = ended
    progress = Progress(exit_code=exit_code, summary=summary)
    if exit_code is not None:
        stops.end(run_id, attempt, to.now_ns)
    return runs.note_progress(run_id, attempt, progress, None)


def _newer(said: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of what a copy says, what is not known or was known earlier."""
    if _stamp(said) >= _stamp(known):
        return said
    return {name: value for name, value in said.items() if name not in known}


def _stamp(summary: Mapping[str, Any]) -> float:
    stamp = summary.get("_timestamp")
    return float(stamp) if isinstance(stamp, int | float) else 0.0


def _lives(writer: Writer, now_ns: int) -> bool:
    """Whether the process itself has ended or may still do so."""
    found = [
        p for p in processes.processes(writer.run_id, writer.attempt) if p.writer == writer.name
    ]
    return any(p.exit_code is not None or now_ns - p.heard_ns < SILENT_NS for p in found)


def end_of(writers: Sequence[Process], now_ns: int) -> int | None:
    """The exit code of an attempt that these processes write; None while one of them lives.

    The first code that is not 0, in the order of the writers; who is silent is through.
    """
    codes = [p.exit_code for p in writers if p.exit_code is not None]
    alive = [p for p in writers if p.exit_code is None and now_ns - p.heard_ns < SILENT_NS]
    if alive or not codes:
        return None
    return next((code for code in codes if code), 0)


def end_silent(now_ns: int) -> int:
    """Ends attempts whose last writers have fallen silent after others were through; how many."""
    return sum(_end(run_id, attempt, now_ns) for run_id, attempt in processes.awaiting())


def _end(run_id: int, attempt: int, now_ns: int) -> bool:
    with transaction.atomic():
        runs.lock_run(run_id)
        code = end_of(processes.processes(run_id, attempt), now_ns)
        if code is None:
            return False
        processes.await_others(run_id, attempt, awaits=False)
        runs.end_attempt(run_id, attempt, code)
        stops.end(run_id, attempt, now_ns)
    return True
