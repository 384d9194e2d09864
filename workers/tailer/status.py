"""`status.json` in the state folder: what an operator or a probe may read at any time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson


def write(path: Path, status: dict[str, Any]) -> None:
    """Replace the file in one step; not synced, it is only news."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(orjson.dumps(status, option=orjson.OPT_INDENT_2))
    partial.replace(path)


HEALTHY_S = 60.0


def health(state_dir: Path) -> tuple[list[str], bool]:
    """What a probe asks: the news in a line, and whether they are young."""
    path = state_dir / "status.json"
    try:
        said = orjson.loads(path.read_bytes())
        age = time.time() - said["updated_ns"] / 1e9
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"{path}: no status ({type(error).__name__})"], False
    told = ("files", "lag_s", "spool_batches", "sent_lines", "dead_letters", "error")
    news = ", ".join(f"{name} {said.get(name)!r}" for name in told)
    return [f"{age:.0f} s ago: {news}"], age < HEALTHY_S


def age_s(path: Path) -> float:
    """Seconds since the file was written; 0 if it is gone."""
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return 0.0
