"""Jobs of Slurm that ended badly, as events of the nodes they ran on. Plain Python.

A job says little about a node: only where Slurm itself blames one is it more than information.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.core.records import NodeEvent
from apps.ingest.nodes.parse import MAX_MESSAGE, MAX_RAW, clean
from apps.ingest.slurm.hostlist import expand
from apps.ingest.slurm.node import SOURCE, local
from apps.ingest.slurm.values import Maybe, Number, States, whole, words
from apps.logs.domain.reading.headers import Clock

ENDS: Final = {
    "NODE_FAIL": ("job_lost_its_node", "error", "lost a node"),
    "BOOT_FAIL": ("job_lost_its_node", "error", "a node did not boot for it"),
    "OUT_OF_MEMORY": ("oom_kill", "warning", "ran out of memory"),
    "FAILED": ("job_failed", "info", "failed"),
    "TIMEOUT": ("job_failed", "info", "reached its time limit"),
    "DEADLINE": ("job_failed", "info", "reached its deadline"),
    "PREEMPTED": ("job_failed", "info", "was preempted"),
}
"""State of slurm.h -> kind, severity, words. Other ends are no news of a node."""
MAX_NODES: Final = 1_024
"""Nodes of one job that an event is written for; what is more is counted."""
_COLUMNS = frozenset({"JobID", "State", "End", "NodeList"})


class _Times(msgspec.Struct, frozen=True):
    end: Number = 0


class _Current(msgspec.Struct, frozen=True):
    current: States = ()


class _Exit(msgspec.Struct, frozen=True):
    return_code: Number = 0


class _Job(msgspec.Struct, frozen=True):
    """A job of `scontrol --json`, `sacct --json` and slurmrestd."""

    job_id: int
    name: str | None = None
    job_state: States | None = None
    state: _Current | None = None
    nodes: str | None = None
    end_time: Number = 0
    time: _Times | None = None
    failed_node: str | None = None
    exit_code: _Exit | int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that ended, as either form tells it. failed_node: the one that Slurm blames, or ""."""

    number: str
    name: str
    state: str
    nodes: str
    end_ns: int
    failed_node: str = ""
    exit_code: str = ""


def of_json(found: Any) -> Ended | None:
    """A job as JSON, None while it runs; msgspec.ValidationError if it is none."""
    job = msgspec.convert(found, _Job)
    said = job.job_state if job.job_state is not None else (job.state or _Current()).current
    end_s = whole(job.time.end if job.time else job.end_time)
    state = next((one for one in words(said) if one in ENDS), "")
    if not state or not end_s or not 0 < end_s < 2**32:
        return None
    code = job.exit_code.return_code if isinstance(job.exit_code, _Exit) else job.exit_code
    known = None if isinstance(code, Maybe) and not code.set else code
    return Ended(
        number=str(job.job_id),
        name=job.name or "",
        state=state,
        nodes=job.nodes or "",
        end_ns=end_s * 1_000_000_000,
        failed_node=job.failed_node or "",
        exit_code="" if known is None else str(whole(known)),
    )


def is_head(line: str) -> bool:
    """Whether a line is the head of `sacct --parsable2`."""
    return line.count("|") >= len(_COLUMNS) - 1 and set(line.strip().split("|")) >= _COLUMNS


def of_row(row: dict[str, str], clock: Clock) -> Ended | None:
    """A row of `sacct --parsable2`; None for a step, what goes on, and an end that is no news."""
    number, state = row.get("JobID", ""), row.get("State", "").partition(" ")[0].upper()
    end_ns = local(row.get("End", ""), clock)
    if not number or "." in number or state not in ENDS or end_ns is None:
        return None
    nodes, code = row.get("NodeList", ""), row.get("ExitCode", "")
    return Ended(number, row.get("JobName", ""), state, nodes, end_ns, exit_code=code)


def events(job: Ended, counts: Counter[str]) -> Iterator[NodeEvent]:
    """An event for the node that failed, or for each node of the job where Slurm names none."""
    names = expand(job.failed_node or job.nodes, MAX_NODES + 1)
    counts["slurm_job_nodes_cut"] += len(names) > MAX_NODES
    kind, severity, said = ENDS[job.state]
    blamed = bool(job.failed_node) or len(names) == 1
    among = "" if blamed else f", one of {len(names)} nodes"
    code = f", exit code {job.exit_code}" if job.exit_code not in ("", "0", "0:0") else ""
    called = f' "{job.name}"' if job.name else ""
    for name in names[:MAX_NODES]:
        yield NodeEvent(
            node=name[:253],
            time_ns=job.end_ns,
            kind=kind,
            severity=severity if blamed or severity == "info" else "warning",
            message=clean(f"job {job.number}{called} {said}{code}{among}", MAX_MESSAGE),
            source=SOURCE,
            raw=clean(job.state, MAX_RAW),
            key=clean(f"job {job.number}", 128),
        )
