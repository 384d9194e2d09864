"""Events of Kubernetes, core/v1 and events.k8s.io/v1: the same object under two names.

Plain Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest.kubernetes import meaning
from apps.ingest.nodes.parse import MAX_MESSAGE, MAX_RAW, clean
from apps.ingest.readings import time_ns

SOURCE = "kubernetes events"


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    creationTimestamp: str | None = None


class _About(msgspec.Struct, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Source(msgspec.Struct, frozen=True):
    component: str | None = None
    host: str | None = None


class _Series(msgspec.Struct, frozen=True):
    lastObservedTime: str | None = None


class _Event(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    involvedObject: _About | None = None
    regarding: _About | None = None
    reason: str | None = None
    message: str | None = None
    note: str | None = None
    source: _Source | None = None
    deprecatedSource: _Source | None = None
    firstTimestamp: str | None = None
    lastTimestamp: str | None = None
    deprecatedLastTimestamp: str | None = None
    eventTime: str | None = None
    series: _Series | None = None
    type: str | None = None
    reportingController: str | None = None
    reportingInstance: str | None = None


def told(found: Mapping[str, Any]) -> NodeEvent | None:
    """What an event tells of a node; None if it names none.

    It is of the time it was seen last, so that one that repeats is an event each time. BadPayload
    without a time, msgspec.ValidationError if it is no Event.
    """
    event = msgspec.convert(found, _Event)
    about = event.involvedObject or event.regarding or _About()
    node = about.name if about.kind == "Node" else _host(event)
    if not node:
        return None
    message = event.message or event.note or ""
    fault = meaning.event(event.reason or "", message, warning=event.type != "Normal")
    where = "" if about.kind == "Node" else f"{about.namespace}/{about.name}: "
    return NodeEvent(
        node=clean(node, 253),
        time_ns=_time(event),
        kind=fault.kind,
        severity=fault.severity,
        message=clean(f"{where}{fault.message}", MAX_MESSAGE),
        device=fault.device,
        source=SOURCE,
        raw=clean(message, MAX_RAW),
        key=clean(f"{event.metadata.namespace}/{event.metadata.name}", 400),
    )


def _host(event: _Event) -> str:
    source = event.source or event.deprecatedSource or _Source()
    if source.host:
        return source.host
    # Kubelets name themselves; other reporters name their pod.
    kubelet = event.reportingController == "kubelet"
    return event.reportingInstance or "" if kubelet else ""


def _time(event: _Event) -> int:
    series = event.series or _Series()
    for text in (
        series.lastObservedTime, event.lastTimestamp, event.deprecatedLastTimestamp,
        event.eventTime, event.firstTimestamp, event.metadata.creationTimestamp,
    ):  # fmt: skip
        at_ns = time_ns(text) if text else None
        if at_ns is not None and at_ns <= 2**62:
            return at_ns
    raise BadPayload("an event without a time", where="lastTimestamp")
