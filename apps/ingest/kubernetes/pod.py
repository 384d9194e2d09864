"""What the end of a pod tells of its node: killed for memory, evicted, killed. Plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from apps.core.records import NodeEvent
from apps.ingest.nodes.parse import MAX_MESSAGE, MAX_RAW, clean
from apps.ingest.readings import time_ns

SOURCE = "kubernetes pods"
MAX_CONTAINERS = 200
_KILLED = 137


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Terminated(msgspec.Struct, frozen=True):
    exitCode: int = 0
    reason: str | None = None
    message: str | None = None
    finishedAt: str | None = None


class _State(msgspec.Struct, frozen=True):
    terminated: _Terminated | None = None


class _Container(msgspec.Struct, frozen=True):
    name: str = ""
    restartCount: int = 0
    state: _State | None = None
    lastState: _State | None = None


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None


class _Spec(msgspec.Struct, frozen=True):
    nodeName: str | None = None


class _Status(msgspec.Struct, frozen=True):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    startTime: str | None = None
    conditions: list[_Condition] | None = None
    containerStatuses: list[_Container] | None = None
    initContainerStatuses: list[_Container] | None = None


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


def told(found: Mapping[str, Any]) -> list[NodeEvent]:
    """Events of the node that a pod ran on; none for a pod that ran nowhere or is well.

    msgspec.ValidationError if it is no Pod.
    """
    pod = msgspec.convert(found, _Pod)
    node = clean(pod.spec.nodeName or "", 253)
    return [*_containers(pod, node), *_taken(pod, node)] if node else []


def _containers(pod: _Pod, node: str) -> Iterator[NodeEvent]:
    status = pod.status
    several = [*(status.initContainerStatuses or []), *(status.containerStatuses or [])]
    for one in several[:MAX_CONTAINERS]:
        for ended in (one.lastState, one.state):
            if ended and ended.terminated and (event := _ended(pod, node, one, ended.terminated)):
                yield event


def _ended(pod: _Pod, node: str, one: _Container, ended: _Terminated) -> NodeEvent | None:
    if ended.reason == "OOMKilled":
        kind, severity, words = "oom_kill", "error", "was killed: out of memory"
    elif ended.exitCode == _KILLED:
        # SIGKILL. The kernel may have chosen a child, or somebody asked for it.
        kind, severity, words = "killed", "warning", "was killed (137), nobody says why"
    else:
        return None
    at_ns = _time(ended.finishedAt)
    if at_ns is None:
        return None
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    return _event(node, at_ns, kind, severity, f"container {one.name} of {name} {words}",
                            raw=msgspec.json.encode(ended).decode())  # fmt: skip


def _taken(pod: _Pod, node: str) -> Iterator[NodeEvent]:
    """A pod that was taken off its node: evicted, preempted, or its node went away."""
    target = [c for c in pod.status.conditions or [] if c.type == "DisruptionTarget"]
    since = next((_time(c.lastTransitionTime) for c in target if c.status == "True"), None)
    reason = pod.status.reason or next((c.reason or "" for c in target if c.status == "True"), "")
    kind = _TAKEN.get(reason)
    at_ns = since or _last_end(pod) or _time(pod.status.startTime)
    if kind and at_ns:
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        said = pod.status.message or next((c.message or "" for c in target), "")
        words = f"{name} was taken off the node ({reason}): {said}".rstrip(": ")
        yield _event(node, at_ns, kind, "error", words, raw=said)


_TAKEN = {
    "Evicted": "evicted",
    "EvictionByEvictionAPI": "evicted",
    "TerminationByKubelet": "evicted",
    "DeletionByTaintManager": "evicted",
    "Preempted": "preempted",
    "Preempting": "preempted",
    "PreemptionByScheduler": "preempted",
    "NodeLost": "node_not_ready",
    "NodeShutdown": "node_down",
    "Terminated": "node_down",
    "UnexpectedAdmissionError": "gpu",
}
"""Reason of a pod or of its DisruptionTarget -> kind."""


def _last_end(pod: _Pod) -> int | None:
    ends = (
        _time(one.state.terminated.finishedAt)
        for one in pod.status.containerStatuses or []
        if one.state and one.state.terminated
    )
    return max((at for at in ends if at), default=None)


def _event(node: str, at_ns: int, kind: str, severity: str, words: str, *, raw: str) -> NodeEvent:
    return NodeEvent(
        node=node,
        time_ns=at_ns,
        kind=kind,
        severity=severity,
        message=clean(words, MAX_MESSAGE),
        source=SOURCE,
        raw=clean(raw, MAX_RAW),
    )


def _time(text: str | None) -> int | None:
    at_ns = time_ns(text) if text else None
    return at_ns if at_ns is not None and at_ns <= 2**62 else None
