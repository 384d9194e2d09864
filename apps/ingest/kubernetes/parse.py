"""Nodes, pods and events of Kubernetes, as its API lists and watches them. Plain Python.

A body is one object, a list (`kubectl get nodes -o json`), or a line each (what a watch answers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest import frames
from apps.ingest.kubernetes import events, node, pod
from apps.ingest.nodes.parse import MAX_EVENTS, SMALLER, NodeBatch, Sender
from apps.nodes.domain.conditions import Look

MAX_OBJECTS = 20_000


@dataclass(slots=True)
class _Heard:
    received_ns: int
    events: list[NodeEvent] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """How nodes stand, and what pods and events tell of them.

    Objects of other kinds, and those that are not what they should be, are counted; a bookmark
    says nothing. BadPayload if the body is no JSON or holds too much.
    """
    heard = _Heard(sender.received_ns)
    for at, (way, found) in enumerate(_objects(body)):
        if at >= MAX_OBJECTS:
            raise BadPayload(f"more than {MAX_OBJECTS} objects", where="body", hint=SMALLER)
        if way != "BOOKMARK":
            _take(heard, way, found)
    if len(heard.events) > MAX_EVENTS:
        raise BadPayload(f"more than {MAX_EVENTS} events", where="body", hint=SMALLER)
    return NodeBatch(tuple(heard.events), dict(heard.counts), tuple(heard.looks))


def _take(heard: _Heard, way: str, found: Any) -> None:
    kind = found.get("kind") if isinstance(found, Mapping) else None
    try:
        if kind == "Node" and way == "DELETED":
            gone = node.gone(found, heard.received_ns)
            heard.looks.append(gone[0])
            heard.events.append(gone[1])
        elif kind == "Node":
            heard.looks.append(node.look(found, heard.received_ns))
        elif kind == "Pod":
            heard.events.extend(pod.told(found))
        elif kind == "Event":
            told = events.told(found)
            heard.counts["kubernetes_events_without_node"] += told is None
            heard.events.extend([told] if told else [])
        else:
            heard.counts["kubernetes_objects_unread"] += 1
    except (msgspec.ValidationError, BadPayload):
        heard.counts["kubernetes_objects_unread"] += 1


def _objects(body: bytes) -> Iterator[tuple[str, Any]]:
    """(type of a watch event or "", object)."""
    for one in _values(body):
        way = one.get("type") if isinstance(one, Mapping) else None
        if isinstance(way, str) and "object" in one:
            yield way, one["object"]
        else:
            yield from (("", item) for item in _items(one))


def _values(body: bytes) -> Iterator[Any]:
    text = body.strip()
    try:
        yield frames.decode(text, dict[str, Any])
        return
    except BadPayload:
        lines = text.splitlines()
    if text.startswith(b"["):
        yield from frames.decode(text, list[Any])
        return
    if len(lines) < 2:
        frames.decode(text, dict[str, Any])
    for at, line in enumerate(lines, 1):
        if line.strip():
            yield frames.decode(line, dict[str, Any], inside=f"line {at}")


def _items(one: Any) -> Iterator[Any]:
    items = one.get("items") if isinstance(one, Mapping) else None
    if not isinstance(items, list):
        yield one
        return
    kind = str(one.get("kind", "")).removesuffix("List")
    for item in items:
        # Items of a typed list do not repeat what they are.
        known = isinstance(item, dict) and "kind" not in item and kind
        yield {**item, "kind": kind} if known else item
