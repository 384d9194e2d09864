"""`bench checkpoints`: does every damaged checkpoint get its finding, and what does checking cost?

With --data a folder of checkpoints with a truth.json (case -> "expect": codes, "loadable", and for
some "steps", "bad_steps", "inventory_from", "mtime_after_marker_s"): each case is copied to a
scratch folder, listed and checked as a storage root is. --json writes what each case got.

Always: a made-up `.metadata` of 900 tensors on 1,024 ranks (--keys: so many tensors and ranks) is
checked by the child process that looks at storage roots, within its memory bound and within one
that is too small; headers a second of --steps files (2,000), local and over range reads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers.benches import ckpt_cases, ckpt_speed
from workers.benches.report import BenchOptions, BenchReport

TENSORS, RANKS, FILES = 900, 1_024, 2_000


def run(options: BenchOptions) -> BenchReport:
    """Findings by case, what was expected, and the figures of speed and memory."""
    figures: dict[str, Any] = {}
    details: dict[str, Any] = {}
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory(prefix="bench-checkpoints-") as scratch:
        place = Path(scratch)
        if options.data:
            details = ckpt_cases.judged(options.data, place / "cases")
            rows += [_row(case, got) for case, got in details.items()]
            figures |= _counted(details)
        size = (options.keys or TENSORS, options.keys or RANKS)
        figures |= ckpt_speed.metadata(place / "metadata", *size)
        figures |= ckpt_speed.headers(place / "headers", options.steps or FILES)
    rows += [(name.replace("_", " "), _shown(value), "") for name, value in figures.items()]
    return BenchReport(
        columns=("what", "value", "right"),
        rows=tuple(rows),
        figures=figures,
        details={"figures": figures, "cases": details},
    )


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _row(case: str, got: Mapping[str, Any]) -> tuple[str, ...]:
    return case, " ".join(got["findings"]) or "none", "yes" if got["exact"] else "NO"


def _counted(details: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "cases": len(details),
        "cases_exact": sum(got["exact"] for got in details.values()),
        "cases_loadable_right": sum(got["loadable_right"] for got in details.values()),
        "cases_bytes": sum(got["bytes_total"] for got in details.values()),
        "cases_bytes_read": sum(got["bytes_read"] for got in details.values()),
    }
