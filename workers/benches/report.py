"""What every bench gets and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """data: a folder to measure on instead of the built-in data.

    steps, keys: of the built-in data instead of the usual number; few measure nothing, but fast.
    peers: Python interpreters that can import a program to compare with. scale: length of the
    made-up job of `logs`. door: of `logs`, None for each. recorded: of `triage`: the recorded runs.
    layers, ranks: of `ui`.
    """

    data: Path | None = None
    steps: int | None = None
    keys: int | None = None
    layers: int | None = None
    ranks: int | None = None
    peers: tuple[Path, ...] = ()
    scale: float = 1.0
    door: str | None = None
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class BenchReport:
    """columns and rows: a table for people. figures: the same for programs (JSON-able).
    details: what --json writes instead of the figures."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] | None = None

    def table(self) -> str:
        """The rows under their headings, in aligned columns."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )
