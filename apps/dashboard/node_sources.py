"""Who tells of nodes, for Ingest health."""

from __future__ import annotations

from typing import Any, Final

from apps.core.clock import now_ns
from apps.ingest.nodes.heard import heard
from apps.ingest.nodes.status import statuses

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
    "superbench": "SuperBench",
    "slurm": "Slurm",
}
"""Door -> its name for people."""


def node_sources() -> dict[str, Any]:
    """Sources of the listener, those that are silent first; senders by who was heard last."""
    found, now = heard(), now_ns()
    asked = [{"is": one, "silent": one.silent(now), "left_out": sorted(one.left_out.items())}
             for one in statuses()]  # fmt: skip
    rows = [
        {
            "name": NAMES.get(one.door, one.door),
            "sender": one.sender,
            "last_ns": one.last_ns,
            "bodies": one.bodies,
            # Our own JSON is taken before it is read, like rows of metrics.
            "told": None if one.door == "events" else one.told,
            "left_out": sorted(one.left_out.items()),
        }
        for one in found[:MAX_ROWS]
    ]
    asked.sort(key=lambda row: not row["silent"])
    return {"asked": asked, "pushed": rows, "more": max(0, len(found) - MAX_ROWS)}
