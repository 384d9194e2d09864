"""Lines of a run that went well for three hours and then lost a rank."""

from __future__ import annotations

from apps.logs.store import write_lines
from apps.runs import store as runs
from apps.runs.models import Run
from tests.log_samples import parse

NOON_NS = 1_795_953_600_000_000_000
HOUR_NS = 3_600_000_000_000


def say(run_id, *lines, attempt=0, node="gpu-a01"):
    """lines: (hour after noon, rank, level, message); the rank is also the second."""
    text = "".join(
        f"2026-11-29 {12 + hour}:00:{rank:02} [{level}] [rank{rank}] {message}\n"
        for hour, rank, level, message in lines
    )
    if runs.attempt(run_id, attempt) is None:
        runs.open_attempt(run_id, attempt, NOON_NS)
    parsed = parse(text, node=node, source=f"{len(text)}/{attempt}")
    write_lines(run_id, attempt, node, [parsed], batch_id="b")


def broken_run(key="r", world_size=8):
    """A run of eight ranks whose rank 2 speaks of ECC, and all others of a time-out."""
    run_id = runs.ensure_run(key)
    Run.objects.filter(pk=run_id).update(project="llm", world_size=world_size)
    say(
        run_id,
        *((h, r, "INFO", f"step {h * 100 + r} took {r} ms") for h in range(4) for r in range(8)),
        (0, 0, "WARNING", "loader all_data is slow"),
        (0, 0, "WARNING", "loader all_eval is slow"),
        (3, 2, "ERROR", "uncorrectable ECC error at 0x7fab on gpu3"),
        *(
            (3, r, "ERROR", f"Watchdog caught collective timeout: rank {r}")
            for r in range(8)
            if r != 2
        ),
    )
    return run_id
