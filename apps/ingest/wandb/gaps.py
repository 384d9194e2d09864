"""Lines of W&B processes that were answered and never came, and what brings them back."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from apps.ingest.wandb import process_store as processes
from apps.ingest.wandb import store
from apps.ingest.wandb.process_store import Process


@dataclass(frozen=True, slots=True)
class MissingLines:
    """Lines [first_line, first_line + lines) of a file that are not here, of one process.

    node, command: run this there and they come back; node "" if it is not known.
    """

    attempt: int
    file: str
    first_line: int
    lines: int
    node: str
    command: str

    @property
    def last_line(self) -> int:
        """The number of the last of them."""
        return self.first_line + self.lines - 1


def missing_lines(run_id: int, key: str) -> list[MissingLines]:
    """What is missing of a run, oldest first, at most store.MAX_SHOWN_GAPS stretches."""
    gaps = store.open_gaps(run_id)
    if not gaps:
        return []
    known = {(p.attempt, p.writer): p for p in processes.processes(run_id)}
    return [
        MissingLines(
            attempt=gap.attempt,
            file=gap.file,
            first_line=gap.first_line,
            lines=gap.lines,
            node=_node(known.get((gap.attempt, gap.writer))),
            command=sync_command(key, _root(known.get((gap.attempt, gap.writer)))),
        )
        for gap in gaps
    ]


def total(missing: Sequence[MissingLines]) -> int:
    """How many lines they are."""
    return sum(stretch.lines for stretch in missing)


def _node(process: Process | None) -> str:
    return process.identity.node if process else ""


def _root(process: Process | None) -> str:
    return process.identity.root if process else ""


def sync_command(key: str, root: str) -> str:
    """The command that sends every folder of a run again. What is here already is not doubled.

    root: the folder that holds the client's `wandb` folder, "" if it is not known.
    """
    folder = f"{shlex.quote(root.rstrip('/'))}/wandb" if root else "wandb"
    return f"wandb sync --include-online --include-synced {folder}/run-*-{key}"
