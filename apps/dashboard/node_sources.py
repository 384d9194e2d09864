"""Who tells of nodes, for Ingest health."""

from __future__ import annotations

from typing import Any, Final

from apps.ingest.nodes.heard import heard

MAX_ROWS = 100
NAMES: Final = {
    "alertmanager": "Alertmanager",
    "events": "our own JSON",
    "fabricmanager": "Fabric Manager log",
    "gpud": "gpud",
    "ipmi": "IPMI event log",
    "kernel": "kernel log",
    "kubernetes": "Kubernetes",
    "metrics": "Prometheus text",
    "nvidia-smi": "nvidia-smi",
    "slurm": "Slurm",
}
"""Door -> its name for people."""


def node_sources() -> dict[str, Any]:
    """Rows by who was heard last, and how many more there are."""
    found = heard()
    rows = [
        {
            "name": NAMES.get(one.door, one.door),
            "sender": one.sender,
            "last_ns": one.last_ns,
            "bodies": one.bodies,
            "told": one.told,
            "left_out": sorted(one.left_out.items()),
        }
        for one in found[:MAX_ROWS]
    ]
    return {"pushed": rows, "more": max(0, len(found) - MAX_ROWS)}
