"""Log files that a template finds: which run, start, node and process each of them is of."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apps.core.errors import AppError
from workers.tailer.logfile import Origin
from workers.tailer.templates import STARTS, Match, Template, find

LOGS, SLURM, PODS = "logs", "slurm", "pods"
TASKS = ("", "rank", "node")
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)$")
_RANDOM = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}$")
_INDEX = re.compile(r"(?:-\d+)+$")
_ROLE = re.compile(r"-(?:worker|master|launcher|chief|node|replica|trainer|head|workers|nodes)$")
_CHANNELS = {"stdout": "stdout", "out": "stdout", "stderr": "stderr", "err": "stderr"}


@dataclass(frozen=True, slots=True)
class PathSource:
    """What to follow. kind: LOGS, SLURM or PODS. zone: of stamps without one ("" = UTC; `+01:00`,
    `local`, `Europe/Paris`). tasks: what a Slurm task is, TASKS; "" = not known."""

    kind: str
    template: Template
    zone: str = ""
    tasks: str = ""


@dataclass(frozen=True, slots=True)
class FoundLog:
    """A file and where its lines belong. node: "" if it is not known. slot, name: of its start, as
    in launches.Start."""

    path: Path
    run: str
    node: str
    slot: str
    name: str
    origin: Origin


def tasks_of(environment: Mapping[str, str]) -> str:
    """What a task of the Slurm job is that this program runs in; "" outside of one."""
    tasks = environment.get("SLURM_NTASKS", "")
    nodes = environment.get("SLURM_JOB_NUM_NODES", environment.get("SLURM_NNODES", ""))
    if not (tasks.isdigit() and nodes.isdigit()):
        return ""
    return "node" if tasks == nodes else "rank"


def check_zone(zone: str, where: str) -> None:
    """AppError for a zone that does not exist."""
    if zone in ("", "local") or _OFFSET.match(zone):
        return
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise AppError(
            f"is no zone: {zone!r}", where=where, hint="write +01:00, local or Europe/Paris"
        ) from error


def zone_offset_s(zone: str, at_s: float) -> int:
    """Seconds east of UTC at a Unix time."""
    found = _OFFSET.match(zone)
    if found is not None:
        seconds = int(found[2]) * 3600 + int(found[3]) * 60
        return seconds if found[1] == "+" else -seconds
    if zone == "local":
        return time.localtime(at_s).tm_gmtoff
    if not zone:
        return 0
    offset = datetime.fromtimestamp(at_s, ZoneInfo(zone)).utcoffset()
    return round(offset.total_seconds()) if offset is not None else 0


def run_of_pod(pod: str) -> str:
    """`gpt-worker-3` and `gpt-0-x7k2p` are pods of `gpt`."""
    named = _INDEX.sub("", _RANDOM.sub("", pod))
    return _ROLE.sub("", named) or pod


def logs_of(source: PathSource, run: str, node: str) -> Iterator[FoundLog]:
    """The files of a source. run, node: where their paths do not say them."""
    for match in find(source.template):
        yield found_log(source, match, run, node)


def found_log(source: PathSource, match: Match, run: str, node: str) -> FoundLog:
    """Where the lines of one file belong."""
    said = match.said
    pod = said.get("pod", "")
    host = said.get("node", _host(source, said, node))
    parts = [f"{name}={said[name]}" for name in STARTS if name in said]
    slot = SLURM if source.kind == SLURM else f"{source.kind}:{node}"
    if pod:
        slot = f"{source.kind}:{said.get('namespace', '')}/{_RANDOM.sub('', pod)}"
        slot += f"/{said.get('container', '')}"
    return FoundLog(
        path=match.path,
        run=said.get("run") or run or (run_of_pod(pod) if pod else ""),
        node=host,
        slot=slot[:300],
        name=(",".join(parts) or source.template.text)[-300:],
        origin=_origin(source, match),
    )


def _host(source: PathSource, said: Mapping[str, str], node: str) -> str:
    """The node of a file whose path does not say it; "" if it is not known.

    Slurm's files lie on a shared disk: any node may follow those of all, and several may.
    """
    if source.kind != SLURM:
        return node
    return f"task-{said['task']}" if source.tasks == "node" and "task" in said else ""


def _origin(source: PathSource, match: Match) -> Origin:
    said, path = match.said, match.path
    rank = said.get("rank", said.get("task") if source.tasks != "node" else None)
    local_rank = said.get("local_rank")
    channel = _CHANNELS.get(said.get("channel", path.suffix.removeprefix(".")), "")
    origin = Origin(
        source=f"{source.template.root.name}/{path.relative_to(source.template.root)}"[-480:],
        channel="console",
        local_rank=None if local_rank is None else int(local_rank),
        rank=None if rank is None else int(rank),
        zone=source.zone,
        tasks_are_ranks=source.tasks == "rank",
        alone=True,
    )
    if rank is None and local_rank is None:
        return origin
    return replace(origin, channel=channel or "stdout", alone=False)
