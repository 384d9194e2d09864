"""The same event from several sources is one event. Plain Python.

A GPU that falls off the bus is said by the kernel log of an agent, by that of a shipper, and some
minutes later by an alert. Each source keeps its own rows; whoever reads them reads one event.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from apps.core.records import NodeEvent
from apps.nodes.domain.kernel import pci

SOON_NS: Final = 5 * 1_000_000_000
"""Two readers of one kernel log: the journal stamps what it receives, which is a little later."""
LATER_NS: Final = 600 * 1_000_000_000
"""An alert comes after a scrape, a pause (`for`) and an evaluation: usually within minutes."""
_KERNEL = "kernel"
SAME_KINDS: Final = {
    "gpu_off_bus": "xid_79",
    "node_down": "node_not_ready",
    "node_not_responding": "node_not_ready",
    "mce": "ecc",
    "killed": "oom_kill",
    "sxid_fatal": "sxid",
    "sxid_nonfatal": "sxid",
    "infiniband": "network",
}
"""What one source calls this another calls that: a BMC says ECC where the kernel says machine
check, the kubelet says that a container was killed where the kernel says why."""
_WITHOUT_NUMBER = "gpu_off_bus"
_PCI = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?")
_LOUDNESS = {"info": 0, "warning": 1, "error": 2, "critical": 3}


def merge(events: Sequence[NodeEvent]) -> list[NodeEvent]:
    """Events by time, of each one that several sources tell only one, with all their names.

    What one source says twice happened twice, unless it says it in two ways (SAME_KINDS) within
    SOON_NS. Two sources mean the same if node and kind are, and the device as far as both name it
    in the same way, within LATER_NS (SOON_NS for two readers of the kernel log). The first to say
    it gives time and words, an Xid before words without one; the loudest gives the severity. Of the
    keys with that time it has the least.
    O(n k), k events of a kind on a node at a time.
    """
    merged: list[list[NodeEvent]] = []
    near: dict[tuple[str, str], list[list[NodeEvent]]] = {}
    for event in sorted(events, key=_order):
        recent = near.setdefault((event.node, SAME_KINDS.get(event.kind, event.kind)), [])
        recent[:] = [told for told in recent if event.time_ns - told[0].time_ns <= LATER_NS]
        told = next((told for told in recent if _same(told, event)), None)
        if told is None:
            told = []
            merged.append(told)
            recent.append(told)
        told.append(event)
    return [_as_one(told) for told in merged]


def _order(event: NodeEvent) -> tuple[int, str, str, str, str]:
    return event.time_ns, event.node, event.source, event.kind, event.device or ""


def _same(told: Sequence[NodeEvent], event: NodeEvent) -> bool:
    return all(
        (one.source, one.kind) != (event.source, event.kind)
        and _is_same_device(one.device, event.device)
        and event.time_ns - one.time_ns <= _span_ns(one, event)
        for one in told
    )


def _span_ns(one: NodeEvent, other: NodeEvent) -> int:
    both = one.source.startswith(_KERNEL) and other.source.startswith(_KERNEL)
    return SOON_NS if both or one.source == other.source else LATER_NS


def _is_same_device(one: str | None, other: str | None) -> bool:
    """False only where both speak of devices in the same way: "GPU 3" may be any bus id."""
    if not one or not other:
        return True
    buses = [pci(device) for device in (one, other) if _PCI.fullmatch(device)]
    if len(buses) == 2:
        return buses[0] == buses[1]
    return one == other if not buses and _way(one) == _way(other) else True


def _way(device: str) -> str:
    """How a device is named: "GPU 3" by number, "GPU-6f..." by UUID, "sda" by a name."""
    return re.sub(r"[0-9a-f-]{8,}|\d+", "#", device) if device.startswith("GPU") else ""


def _preferred(device: str) -> tuple[bool, int, str]:
    """A bus id before other names, the short form of one before the long."""
    return not _PCI.fullmatch(device), len(device), device


def _as_one(told: Sequence[NodeEvent]) -> NodeEvent:
    if len(told) == 1:
        return told[0]
    devices = sorted({e.device for e in told if e.device}, key=_preferred)
    first = min(told, key=lambda e: e.kind == _WITHOUT_NUMBER)
    return replace(
        first,
        time_ns=told[0].time_ns,
        severity=max((e.severity for e in told), key=lambda s: _LOUDNESS.get(s, -1)),
        device=devices[0] if devices else None,
        source=", ".join(sorted({e.source for e in told})),
        ended_ns=next((e.ended_ns for e in told if e.ended_ns is not None), None),
        key=min(e.key for e in told if e.time_ns == told[0].time_ns),
    )
