"""Every statement against how nodes stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict

from django.db import transaction
from django.db.models import Q

from apps.core.records import NodeEvent
from apps.nodes import store
from apps.nodes.domain.conditions import Change, Held, Look, Mode, change
from apps.nodes.models import Node, NodeConditionRow

_PLACE = ("node", "source", "name")
_KEPT = ("mode", "kind", "level", "message", "value", "since_ns", "device", "raw")
Place = tuple[str, str]
"""Node and source."""


def look(looks: Sequence[Look]) -> tuple[int, int]:
    """Brings how nodes stand up to date, and records what changed: (events, late readings).

    Looks are taken in their order. The nodes are locked, so that two writers of one node do not
    both find the same change.
    """
    if not looks:
        return 0, 0
    with transaction.atomic():
        held = _locked(looks)
        events: list[NodeEvent] = []
        after = Changed()
        late = 0
        for one in looks:
            place = (one.node, one.source)
            found = change(held[place], one)
            after.note(place, found, held[place])
            events.extend(found.events)
            late += found.late
        after.write()
        store.record(events)
    return len(events), late


class Changed:
    """What several looks leave to write: only what is other than before."""

    def __init__(self) -> None:
        self._put: dict[tuple[str, str, str], Held] = {}
        self._drop: set[tuple[str, str, str]] = set()

    def note(self, place: Place, found: Change, held: dict[str, Held]) -> None:
        """Takes over a change; `held` is brought up to date."""
        for name in found.drop:
            held.pop(name, None)
            self._put.pop((*place, name), None)
            self._drop.add((*place, name))
        held.update(found.put)
        for name, now in found.put.items():
            self._put[(*place, name)] = now
            self._drop.discard((*place, name))

    def write(self) -> None:
        """-- uses the primary key"""
        gone: dict[Place, list[str]] = defaultdict(list)
        for node, source, name in self._drop:
            gone[node, source].append(name)
        for (node, source), names in gone.items():
            NodeConditionRow.objects.filter(node=node, source=source, name__in=names).delete()
        NodeConditionRow.objects.bulk_create(
            [
                NodeConditionRow(**dict(zip(_PLACE, where, strict=True)), **asdict(now))
                for where, now in self._put.items()
            ],
            update_conflicts=True,
            unique_fields=list(_PLACE),
            update_fields=list(_KEPT),
        )


def nodes_of(source: str, limit: int = 100_000) -> set[str]:
    """Nodes of which a source holds anything."""
    rows = NodeConditionRow.objects.filter(source=source).values_list("node", flat=True)
    return set(rows.distinct()[:limit])


def _locked(looks: Sequence[Look]) -> dict[Place, dict[str, Held]]:
    """What is held of the nodes of the looks, -- uses the primary key."""
    names = sorted({one.node for one in looks})
    store.ensure(names)
    list(Node.objects.select_for_update().filter(name__in=names).order_by("name"))
    sources = {one.source for one in looks}
    held: dict[Place, dict[str, Held]] = {(one.node, one.source): {} for one in looks}
    rows = NodeConditionRow.objects.filter(Q(node__in=names) & Q(source__in=sources))
    for row in rows.iterator():
        if (row.node, row.source) in held:
            held[row.node, row.source][row.name] = Held(
                Mode(row.mode), row.kind, row.level, row.message, row.value, row.since_ns,
                row.device, row.raw,
            )  # fmt: skip
    return held
