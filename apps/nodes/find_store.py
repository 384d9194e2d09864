"""Nodes by a part of their name, within a bound."""

from __future__ import annotations

from apps.nodes.models import Node


def find_nodes(text: str, limit: int) -> list[str]:
    """Names that hold the text, whatever their case, by name. Cost: the names of all nodes."""
    rows = Node.objects.filter(name__icontains=text).order_by("name")
    return list(rows.values_list("name", flat=True)[:limit])
