"""What dcgm-exporter, node-exporter or a federating Prometheus say, as looks at nodes.

Plain Python. Of thousands of series those are read that tell of a fault (see meaning.WATCHED).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from apps.core.errors import BadPayload
from apps.ingest.alertmanager.meaning import device_of, node_of
from apps.ingest.exposition import meaning
from apps.ingest.exposition.meaning import DCGM, INSTEAD, NODE, UP, WATCHED
from apps.ingest.exposition.samples import Sample, Samples
from apps.ingest.nodes.parse import SMALLER, NodeBatch, Sender, clean
from apps.nodes.domain.conditions import Look, Reading

LAST_XID, COUNTED_XID = "DCGM_FI_DEV_XID_ERRORS", "DCGM_EXP_XID_ERRORS_COUNT"
_FREE, _SIZE = "node_filesystem_avail_bytes", "node_filesystem_size_bytes"
_AVAILABLE, _TOTAL = "node_memory_MemAvailable_bytes", "node_memory_MemTotal_bytes"
NAMES: Final = frozenset({*WATCHED, LAST_XID, COUNTED_XID, _FREE, _SIZE, _AVAILABLE, _TOTAL, "up"})
"""Every metric that is read: what a Prometheus has to be asked for."""
_PAIRED: Final = frozenset({_FREE, _SIZE, _AVAILABLE, _TOTAL})
_TWICE: Final = frozenset({*INSTEAD, *INSTEAD.values()})
MAX_SERIES: Final = 1_000_000
"""Of those that are read: 16,384 GPUs have a quarter of it."""


@dataclass(slots=True)
class _Node:
    """Samples of one node. halves: of pairs, by name and mount point."""

    samples: list[Sample] = field(default_factory=list)
    halves: dict[tuple[str, str], float] = field(default_factory=dict)


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """A look at each node and exporter of the text.

    Whose series they are say ?node= or the labels, as with alerts. Lines that are none and series
    of no node are counted. BadPayload if there is no sample at all, or too many that are read.
    """
    samples = Samples(NAMES.__contains__)
    nodes: dict[str, _Node] = {}
    nobody = 0
    for at, sample in enumerate(samples.read(body.decode("utf-8", "replace"))):
        if at >= MAX_SERIES:
            raise BadPayload(f"more than {MAX_SERIES} series", where="body", hint=SMALLER)
        node = clean(sender.node or node_of(sample.labels), 253)
        if not node:
            nobody += 1
        elif math.isfinite(sample.value) and not _is_blank(sample):
            _add(nodes.setdefault(node, _Node()), sample)
    if not samples.found:
        raise BadPayload(
            "no sample in it", where="body", hint="the text format of Prometheus is expected"
        )
    looks = tuple(
        look for name, node in nodes.items() for look in _looks(name, node, sender.received_ns)
    )
    counts = {"metric_lines_unread": samples.unread, "metrics_without_node": nobody}
    return NodeBatch((), counts, looks)


def _is_blank(sample: Sample) -> bool:
    return sample.name.startswith("DCGM_") and not 0 <= sample.value < meaning.BLANK_FROM


def _add(node: _Node, sample: Sample) -> None:
    if sample.name in _PAIRED:
        if not meaning.unreal_filesystem(sample.labels):
            node.halves[sample.name, sample.labels.get("mountpoint", "")] = sample.value
    else:
        node.samples.append(sample)


def _looks(name: str, node: _Node, received_ns: int) -> Iterator[Look]:
    readings: dict[str, dict[str, Reading]] = {}
    second = _second(node.samples)
    for sample in node.samples:
        if sample.name not in INSTEAD or (sample.name, device_of(sample.labels)) not in second:
            for source, reading in _readings(sample):
                readings.setdefault(source, {})[reading.name] = reading
    for reading in _pairs(node.halves):
        readings.setdefault(NODE, {})[reading.name] = reading
    for source, named in readings.items():
        yield Look(source, name, received_ns, tuple(named.values()))


def _second(samples: list[Sample]) -> set[tuple[str, str | None]]:
    """(metric, device) that another metric of the device tells as well."""
    there = {(one.name, device_of(one.labels)) for one in samples if one.name in _TWICE}
    return {
        (name, device)
        for name, device in there
        if name in INSTEAD and (INSTEAD[name], device) in there
    }


def _readings(sample: Sample) -> Iterator[tuple[str, Reading]]:
    labels, value = sample.labels, sample.value
    if sample.name == "up":
        job = labels.get("job", "")
        if any(word in job.lower() for word in ("node", "dcgm")):
            yield UP, meaning.reached(job, value)
    elif sample.name == LAST_XID:
        yield DCGM, meaning.last_xid(labels, value)
    elif sample.name == COUNTED_XID:
        if counted := meaning.counted_xid(labels, value):
            yield DCGM, counted
    else:
        for watched in WATCHED[sample.name]:
            if not watched.skip(labels):
                yield watched.source, meaning.reading(sample.name, watched, labels, value)


def _pairs(halves: Mapping[tuple[str, str], float]) -> Iterator[Reading]:
    for (name, place), value in halves.items():
        if name == _SIZE and value > 0 and (free := halves.get((_FREE, place))) is not None:
            yield meaning.filling(place, free / value)
    total, free = halves.get((_TOTAL, "")), halves.get((_AVAILABLE, ""))
    if total and free is not None:
        yield meaning.memory(free / total)
