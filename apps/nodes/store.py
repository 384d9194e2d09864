"""Every statement against the tables of nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from django.db.models import Max, Q, Window
from django.db.models.functions import RowNumber

from apps.core.records import NodeEvent
from apps.core.sql import query
from apps.nodes.domain.merging import merge
from apps.nodes.models import Node, NodeEventRow

EACH_KIND = 50
LOUD_KINDS = 200
LOUD = ("critical", "error")
_FIELDS = (
    "node", "time_ns", "kind", "severity", "message", "device", "source", "raw", "ended_ns"
)  # fmt: skip
_LOUD = f"""
    SELECT {", ".join(f"e.{name}" for name in _FIELDS)}
      FROM unnest(%s::text[], %s::int8[], %s::int8[]) AS w (node, from_ns, to_ns),
      LATERAL (SELECT n.kind, min(n.time_ns) AS first_ns FROM nodes_nodeeventrow AS n
                WHERE n.node = w.node AND n.time_ns BETWEEN w.from_ns AND w.to_ns
                  AND n.severity = ANY(%s)
                GROUP BY n.kind ORDER BY n.kind LIMIT {LOUD_KINDS}) AS k,
      LATERAL (SELECT n.* FROM nodes_nodeeventrow AS n
                WHERE n.node = w.node AND n.time_ns = k.first_ns AND n.kind = k.kind
                  AND n.severity = ANY(%s)
                ORDER BY n.digest LIMIT 1) AS e
     ORDER BY e.time_ns, e.node, e.digest
"""  # noqa: S608 - names of this module only


def ensure(names: Sequence[str]) -> None:
    """Makes the named nodes known."""
    Node.objects.bulk_create(
        (Node(name=name) for name in sorted(set(names))), ignore_conflicts=True
    )


def _digest(event: NodeEvent) -> str:
    own = f"{event.kind}\0{event.message}\0{event.device or ''}"
    text = f"{event.source}\0{event.key}" if event.key else own
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _row(event: NodeEvent) -> NodeEventRow:
    return NodeEventRow(
        node=event.node,
        time_ns=event.time_ns,
        digest=_digest(event),
        kind=event.kind,
        severity=event.severity,
        message=event.message,
        device=event.device,
        source=event.source,
        raw=event.raw,
        ended_ns=event.ended_ns,
    )


def record(events: Sequence[NodeEvent]) -> None:
    """Adds events; one already known changes nothing, except that it may have ended since.

    What has ended stays so: an older delivery that comes late opens nothing again.
    """
    ensure([event.node for event in events])
    rows = [_row(event) for event in events]
    NodeEventRow.objects.bulk_create(rows, ignore_conflicts=True)
    ended = {row.pk: row for row in rows if row.ended_ns is not None}
    NodeEventRow.objects.bulk_create(
        ended.values(),
        update_conflicts=True,
        unique_fields=["node", "time_ns", "digest"],
        update_fields=["ended_ns"],
    )


def last_heard(names: Sequence[str]) -> dict[str, int]:
    """node -> the time of its newest event; nodes that no source ever told of are left out.

    -- uses the primary key
    """
    rows = NodeEventRow.objects.filter(node__in=list(names)).values("node")
    return dict(rows.annotate(newest=Max("time_ns")).values_list("node", "newest"))


def events(names: Sequence[str], from_ns: int, to_ns: int, limit: int = 500) -> list[NodeEvent]:
    """Events of the nodes in [from_ns, to_ns], oldest first, each once whoever told of it.

    Of each kind the first EACH_KIND of a node, so that a storm of one hides no other. limit: of
    rows that are read. -- uses the primary key
    """
    nth = Window(RowNumber(), partition_by=["node", "kind"], order_by=["time_ns", "digest"])
    within = NodeEventRow.objects.filter(
        node__in=list(names), time_ns__gte=from_ns, time_ns__lte=to_ns
    )
    rows = within.annotate(nth=nth).filter(nth__lte=EACH_KIND).order_by("time_ns", "node", "digest")
    return merge([_event(row) for row in rows[:limit]])


def loud_events(windows: Sequence[tuple[str, int, int]]) -> list[NodeEvent]:
    """Errors and worse in each of these windows (node, from_ns, to_ns; both included), of each kind
    the first: a storm in one window hides nothing in another. At most LOUD_KINDS of a window.

    -- uses the primary key
    """
    names, starts, ends = zip(*windows, strict=True) if windows else ((), (), ())
    loud = list(LOUD)
    rows = query(_LOUD, [list(names), list(starts), list(ends), loud, loud])
    return [NodeEvent(**dict(zip(_FIELDS, row, strict=True))) for row in rows]


def latest_events(name: str, before: tuple[int, int], limit: int) -> tuple[list[NodeEvent], bool]:
    """The newest events of a node before a (time, key), oldest first, each once whoever told of
    it; and whether there may be older ones. Their key: the digest, in hex.

    -- uses the primary key
    """
    time_ns, key = before
    same = Q(time_ns=time_ns, digest__lt=f"{key:032x}")
    rows = NodeEventRow.objects.filter(
        Q(time_ns__lt=time_ns) | same, node=name, time_ns__lte=time_ns
    )
    read = rows.order_by("-time_ns", "-digest")[:limit]
    found = [replace(_event(row), key=row.digest) for row in read]
    return merge(found), len(found) == limit


def _event(row: NodeEventRow) -> NodeEvent:
    return NodeEvent(
        node=row.node,
        time_ns=row.time_ns,
        kind=row.kind,
        severity=row.severity,
        message=row.message,
        device=row.device,
        source=row.source,
        raw=row.raw,
        ended_ns=row.ended_ns,
    )
