"""A run with a few log lines of two nodes, for the tests of what reads them."""

from __future__ import annotations

from apps.logs.store import write_lines
from apps.runs import services as runs_services
from apps.runs import store as runs
from tests.log_samples import SEEN_NS, S, parse

KEY = "chat"
START_NS = SEEN_NS
LEVELS = ("INFO", "INFO", "WARNING", "ERROR")


def line(rank: int, second: int) -> str:
    """What a rank prints in a second; every fourth is an error."""
    level = LEVELS[second % len(LEVELS)]
    return f"2026-11-29 19:53:{20 + second:02d},000 [{level}] [rank{rank}] train: step {second} ok"


def make(seconds: int = 12) -> int:
    """Four ranks on two nodes, a line a second each; the id of the run."""
    run_id = runs.ensure_run(KEY)
    runs_services.settle_attempt(run_id, 0, START_NS)
    for node, ranks in (("gpu-a01", (0, 1)), ("gpu-b02", (2, 3))):
        parsed = [
            parse(
                "".join(f"{line(rank, second)}\n" for second in range(seconds)),
                node=node,
                local_rank=rank % 2,
                source=f"job/attempt_0/{rank % 2}/stderr.log",
            )
            for rank in ranks
        ]
        write_lines(run_id, 0, node, parsed, batch_id=f"made-{node}")
    return run_id


def at_ns(second: int) -> int:
    """When the line of a second was printed."""
    return START_NS + second * S
