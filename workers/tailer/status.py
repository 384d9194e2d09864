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


def age_s(path: Path) -> float:
    """Seconds since the file was written; 0 if it is gone."""
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return 0.0
