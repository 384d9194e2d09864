"""What Slurm says of nodes and jobs: scontrol, sinfo, sacct, slurmrestd. Plain Python.

Forms: https://slurm.schedmd.com/scontrol.html, sacct.html and rest_api.html.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest import frames
from apps.ingest.nodes.parse import MAX_EVENTS, SMALLER, NodeBatch, Sender
from apps.ingest.slurm import job, node
from apps.logs.domain.reading.headers import Clock
from apps.nodes.domain.conditions import Look

MAX_LINES: Final = 200_000
FORMS: Final = "scontrol -o show node, scontrol --json show node, sacct --parsable2, sacct --json"


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """How nodes stand, and jobs that ended badly. BadPayload for what is none of FORMS.

    Lines and objects that cannot be read are counted; partitions are, and say nothing of a node.
    """
    counts: Counter[str] = Counter()
    stripped = body.lstrip()
    read = _json(stripped, counts) if stripped[:1] == b"{" else _text(body, sender, counts)
    events: list[NodeEvent] = []
    looks: dict[str, Look] = {}
    for one in read:
        if isinstance(one, job.Ended):
            events += job.events(one, counts)
        else:
            looks[one.name] = node.look(one, sender.received_ns)
        if len(events) > MAX_EVENTS or len(looks) > MAX_EVENTS:
            raise BadPayload(f"more than {MAX_EVENTS} nodes or events", where="body", hint=SMALLER)
    return NodeBatch(tuple(events), dict(counts), tuple(looks.values()))


Found = node.Standing | job.Ended


def _json(body: bytes, counts: Counter[str]) -> Iterator[Found]:
    read: dict[str, Any] = frames.decode(body, dict[str, Any])
    nodes, jobs = node.found_in(read, MAX_EVENTS), read.get("jobs")
    if nodes is None and not isinstance(jobs, list):
        raise BadPayload("neither nodes nor jobs", where="body", hint=f"send {FORMS}")
    for reader, found in ((node.of_json, nodes or []), (job.of_json, jobs or [])):
        for one in found:
            try:
                read_one = reader(one)
            except msgspec.ValidationError:
                counts["slurm_objects_unread"] += 1
            else:
                if read_one is not None:
                    yield read_one


def _text(body: bytes, sender: Sender, counts: Counter[str]) -> Iterator[Found]:
    lines = body.decode("utf-8", "replace").replace("\0", "\ufffd").splitlines()
    if len(lines) > MAX_LINES:
        raise BadPayload(f"more than {MAX_LINES} lines", where="body", hint=SMALLER)
    lines = [line for line in lines if line.strip()]
    if lines and job.is_head(lines[0]):
        yield from _rows(lines, sender, counts)
        return
    for line in lines:
        found = node.of_line(line, sender)
        if found is not None:
            yield found
        else:
            partition = line.startswith("PartitionName=")
            counts["slurm_partitions" if partition else "slurm_lines_unread"] += 1


def _rows(lines: list[str], sender: Sender, counts: Counter[str]) -> Iterator[Found]:
    clock = Clock(sender.received_ns, sender.offset_s)
    names = lines[0].strip().split("|")
    for line in lines[1:]:
        cells = line.split("|")
        if len(cells) != len(names):
            counts["slurm_lines_unread"] += 1
        elif ended := job.of_row(dict(zip(names, cells, strict=True)), clock):
            yield ended
