"""How a node of Kubernetes stands: conditions, cordon, taints, GPUs, boot. Plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from apps.core.records import NodeEvent
from apps.ingest.frames import Node as Name
from apps.ingest.kubernetes import meaning
from apps.ingest.nodes.parse import MAX_MESSAGE, MAX_RAW, clean
from apps.ingest.readings import time_ns
from apps.nodes.domain.conditions import Look, Mode, Reading

SOURCE = "kubernetes"
MAX_PARTS = 200
"""Conditions and taints of a node that are read."""
_CORDON = "node.kubernetes.io/unschedulable"


class _Meta(msgspec.Struct, frozen=True):
    name: Name


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str = ""
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None


class _Taint(msgspec.Struct, frozen=True):
    key: str
    value: str | None = None
    effect: str | None = None
    timeAdded: str | None = None


class _Spec(msgspec.Struct, frozen=True):
    unschedulable: bool | None = None
    taints: list[_Taint] | None = None


class _Info(msgspec.Struct, frozen=True):
    bootID: str | None = None


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] | None = None
    capacity: dict[str, Any] | None = None
    allocatable: dict[str, Any] | None = None
    nodeInfo: _Info | None = None


class _Node(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


def look(found: Mapping[str, Any], received_ns: int) -> Look:
    """Everything that a Node says of itself, so that what it no longer says is over.

    msgspec.ValidationError if it is no Node.
    """
    node = msgspec.convert(found, _Node)
    readings = (
        *_conditions(node.status.conditions or []),
        *_spec(node.spec),
        *_gpus(node.status),
        *_boot(node.status.nodeInfo),
    )
    return Look(SOURCE, node.metadata.name, received_ns, readings, whole=True)


def gone(found: Mapping[str, Any], received_ns: int) -> tuple[Look, NodeEvent]:
    """A node that was deleted: nothing of it goes on."""
    name = msgspec.convert(found, _Node).metadata.name
    event = NodeEvent(
        node=name,
        time_ns=received_ns,
        kind="node_removed",
        severity="warning",
        message="the node was deleted from Kubernetes",
        source=SOURCE,
    )
    return Look(SOURCE, name, received_ns, (), whole=True), event


def _conditions(conditions: list[_Condition]) -> Iterator[Reading]:
    for one in conditions[:MAX_PARTS]:
        bad = meaning.is_bad(one.type, one.status)
        if bad is None:
            continue
        fault = meaning.condition(one.type, one.reason or "", one.message or "")
        raw = msgspec.json.encode(one).decode()
        yield Reading(
            name=clean(f"condition {one.type}", 128),
            kind=fault.kind,
            level=fault.severity if bad else "",
            message=clean(fault.message, MAX_MESSAGE),
            device=fault.device,
            time_ns=_time(one.lastTransitionTime),
            raw=clean(raw, MAX_RAW),
        )


def _spec(spec: _Spec) -> Iterator[Reading]:
    taints = (spec.taints or [])[:MAX_PARTS]
    if spec.unschedulable:
        since = next((_time(one.timeAdded) for one in taints if one.key == _CORDON), None)
        words = "cordoned: no new pod gets this node"
        yield Reading("cordon", "cordoned", "info", words, time_ns=since)
    for one in taints:
        if level := meaning.taint_level(one.key):
            words = f"tainted {one.key}={one.value or ''}:{one.effect or ''}"
            yield Reading(
                name=clean(f"taint {one.key} {one.effect or ''}", 128),
                kind="tainted",
                level=level,
                message=clean(words, MAX_MESSAGE),
                time_ns=_time(one.timeAdded),
            )


def _gpus(status: _Status) -> Iterator[Reading]:
    """GPUs that are there and that nobody gets: their plugin took them back."""
    usable = status.allocatable or {}
    for resource, count in list((status.capacity or {}).items())[:MAX_PARTS]:
        if not resource.endswith("/gpu") and "/mig-" not in resource:
            continue
        have, may = _count(count), _count(usable.get(resource, 0))
        yield Reading(
            name=clean(f"gpus {resource}", 128),
            kind="gpu_withdrawn",
            level="error" if may < have else "",
            message=clean(f"only {may} of {have} {resource} can be used", MAX_MESSAGE),
        )


def _count(value: Any) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _boot(info: _Info | None) -> Iterator[Reading]:
    digits = (info.bootID or "" if info else "").replace("-", "")[:12]
    try:
        number = int(digits, 16)
    except ValueError:
        return
    words = "the machine started again"
    yield Reading("boot", "reboot", "warning", words, mode=Mode.MARK, value=float(number))


def _time(text: str | None) -> int | None:
    at_ns = time_ns(text) if text else None
    return at_ns if at_ns is not None and at_ns <= 2**62 else None
