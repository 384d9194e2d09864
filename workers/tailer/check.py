"""`--check`: which files an agent would follow, as what. Nothing is sent, nothing is written."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from apps.logs.domain.reading.headers import Clock
from workers.tailer import templates
from workers.tailer.config import AgentConfig
from workers.tailer.logfile import LogFile, Origin
from workers.tailer.pathsources import zone_offset_s
from workers.tailer.streams import Discovery, LogStream, first_stamp_ns

HEAD_BYTES = 64 << 10
MAX_TOLD = 2_000
_FORMATS = (
    ("CRI", re.compile(rb"^\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP] ", re.M)),
    ("Docker JSON", re.compile(rb'^\{"log":', re.M)),
    ("journal", re.compile(rb'^\{.*"__REALTIME_TIMESTAMP"', re.M)),
    ("JSON lines", re.compile(rb'^\{"', re.M)),
    ("labels of local ranks", re.compile(rb"^(?:\S+ \S+ \S )?\[[A-Za-z_]\w*?\d+\]:", re.M)),
    ("labels of tasks", re.compile(rb"^\d{1,6}: ", re.M)),
    ("labels of ranks", re.compile(rb"\[rank\d+\]:")),
)
_LOCAL = "labels of local ranks"


def report(config: AgentConfig) -> tuple[list[str], bool]:
    """Lines for a person, and whether all is well: some file is found, each can be read."""
    found = Discovery(config, {})
    found.look()
    told = [*_streams(found), *_consoles(config, found), *_others(config)]
    lines = [line for line, _ in told[:MAX_TOLD]]
    if len(told) > MAX_TOLD:
        lines.append(f"... and {len(told) - MAX_TOLD} files more")
    for path in sorted(found.nameless):
        lines.append(f"{path}\n  NOT followed: its path names no run; give --run")
    bad = sum(not well for _, well in told) + len(found.nameless)
    lines.append(f"{len(told)} files, {bad} with a problem")
    return lines, bool(told) and not bad


def _streams(found: Discovery) -> Iterator[tuple[str, bool]]:
    for stream in found.logs.values():
        for path, file in stream.files.items():
            yield _file(path, file, stream)


def _consoles(config: AgentConfig, found: Discovery) -> Iterator[tuple[str, bool]]:
    newest = LogStream(config.run, config.node, "", "the newest start of the node")
    for path, file in found.consoles.items():
        yield _file(path, file, newest)


def _others(config: AgentConfig) -> Iterator[tuple[str, bool]]:
    for kind in ("console", "wandb", "checkpoints", "tensorboard", "jsonl", "csv", "trainer_state"):
        for path in getattr(config, kind):
            if not path.exists():
                yield f"{path}\n  {kind}: is not there yet", True
            elif kind != "console":
                yield f"{path}\n  {kind}: is there", True
    for template in config.flight_recorder:
        dumps = list(templates.find(template))
        found = f"{len(dumps)} dumps, the first {dumps[0].path}" if dumps else "no dump yet"
        yield f"{template.text}\n  flight_recorder: {found}", True


def _file(path: Path, file: LogFile, stream: LogStream) -> tuple[str, bool]:
    """What one file would be sent as, and what its first lines look like."""
    lines = [
        str(path),
        f"  run {stream.run}, start {stream.name}, node {stream.node or 'not known'}",
    ]
    lines.append(f"  {_as_what(file.origin)}")
    try:
        with path.open("rb") as opened:
            head = opened.read(HEAD_BYTES)
        stat = path.stat()
    except OSError as error:
        return "\n".join([*lines, f"  CANNOT be read now: {error.strerror}"]), False
    formats = [name for name, pattern in _FORMATS if pattern.search(head)]
    written = _said(stat.st_mtime_ns)
    lines.append(f"  {stat.st_size} bytes, written {written}, {_first(head, file.origin)}")
    lines.append(f"  looks like: {', '.join(formats) or 'plain lines'}")
    node_file = file.origin.rank is not None and _LOCAL in formats
    if node_file:
        lines.append("  its lines are of several processes: is a task a node? then --tasks node")
    return "\n".join(lines), not node_file


def _as_what(origin: Origin) -> str:
    if origin.rank is not None:
        who = f"rank {origin.rank}"
    elif origin.local_rank is not None:
        who = f"local rank {origin.local_rank}"
    else:
        who = "all processes (ranks as its lines say)"
        who += "; `N:` is a rank" if origin.tasks_are_ranks else ""
    return f"{origin.channel} of {who}; zone {origin.zone or 'UTC'}"


def _first(head: bytes, origin: Origin) -> str:
    if not head:
        return "empty"
    now_ns = time.time_ns()
    clock = Clock(now_ns, zone_offset_s(origin.zone, now_ns / 1e9))
    stamp = first_stamp_ns(head.split(b"\n")[:200], clock)
    return "no time stamps" if stamp is None else f"first stamp {_said(stamp)}"


def _said(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
