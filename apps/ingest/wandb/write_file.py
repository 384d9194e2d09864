"""Records of a `.wandb` file into the tables, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from apps.ingest.envelope import Envelope
from apps.ingest.wandb import health, store
from apps.ingest.wandb.alerts import report
from apps.ingest.wandb.parse import WandbBatch, WandbBody, decode
from apps.ingest.writes import Printed, Written, add_console, add_rows, add_system, too_large
from apps.nodes import conditions_store as conditions
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import Progress


def write_wandb(envelope: Envelope, body: WandbBody) -> Written:
    """History, system metrics, console, config, summary, alerts, exit: each record once, however
    the file is cut into bodies."""
    run_id = envelope.run_id
    named = runs.settle_attempt(run_id, body.attempt, envelope.received_ns).number
    fresh = store.take_records(store.Writer(run_id, body.attempt, body.file), body)
    found = decode(
        fresh.records,
        now_ns=envelope.received_ns,
        first_record=fresh.first_record,
        shift_ns=body.time_shift_ns,
    )
    counts = Counter({"repeated_records": fresh.repeated, "damaged_places": body.damaged})
    counts.update({"gaps": fresh.gaps, "missing_records": fresh.missing})
    written = add_rows(run_id, body.attempt, found.rows, source="wandb")
    attempt = max(written.attempts, default=named)
    counts.update(written.counts)
    counts["points"] += add_system(run_id, attempt, found.system)
    counts["node_events"] += conditions.look(tuple(health.looks(body.node or "", found.system)))[0]
    printed = Printed(f"wandb/{body.file}", body.node, found.console, body.time_shift_ns)
    counts["lines"] += add_console(envelope, attempt, printed)
    counts.update(too_large(_note(run_id, attempt, found)))
    counts.update(report(envelope, attempt, found.alerts))
    counts.update(_left_out(found))
    return Written(written.attempts | {attempt}, counts)


def _note(run_id: int, attempt: int, found: WandbBatch) -> Sequence[str]:
    progress = Progress(
        project=found.run.project if found.run else None,
        exit_code=found.exit_code,
        config=found.config,
        summary=found.summary,
    )
    return runs_store.note_progress(run_id, attempt, progress, None)


def _left_out(found: WandbBatch) -> Counter[str]:
    counts = Counter({f"skipped: {kind}": times for kind, times in found.skipped.items()})
    counts["unreadable_records"] += len(found.problems)
    counts["preemption_notices"] += found.preempting
    return counts
