"""Hosts that took part in attempts, were blamed, and had events."""

from __future__ import annotations

from typing import Any

from apps.core.records import Evidence, NodeEvent, Suspect
from apps.incidents import services as incidents
from apps.incidents.domain.incident import IncidentChange
from apps.nodes import store as nodes
from apps.runs import store as runs
from apps.runs.records import PlacementInfo
from tests.incident_samples import finding


def started(key: str, attempt: int, hosts: dict[str, list[int]], at_ns: int) -> int:
    """An attempt of a run that began, with these ranks on these hosts; the run's id."""
    run_id = runs.ensure_run(key)
    runs.open_attempt(run_id, attempt, at_ns)
    placed = [
        PlacementInfo(rank, node, local, f"GPU-{node}-{local}")
        for node, ranks in hosts.items()
        for local, rank in enumerate(ranks)
    ]
    nodes.ensure(list(hosts))
    runs.record_placements(run_id, attempt, placed)
    return run_id


def suspect(
    node: str | None = "gpu-b02",
    fault: str = "xid_79",
    confidence: float = 0.9,
    rank: int | None = 6,
) -> Suspect:
    """Somebody a verdict names."""
    return Suspect(rank, node, fault, confidence, (Evidence("a line"),))


def died(
    run_id: int, *suspects: Suspect, now_ns: int, attempt: int = 0, **fields: Any
) -> list[IncidentChange]:
    """What the log triage says of an attempt that died."""
    said = finding(
        f"failure:{attempt}",
        "failure",
        120,
        detector="first_failure",
        attempt=attempt,
        suspects=suspects,
        facts={"settled": True},
        title=f"failed, as known at {now_ns}",
        **fields,
    )
    return incidents.absorb(run_id, attempt, [said], now_ns)


def xid(time_ns: int, node: str = "gpu-b02") -> NodeEvent:
    """A GPU of a host has fallen off the bus."""
    return NodeEvent(node, time_ns, "xid_79", "critical", "off the bus", "0000:ae:00", "kernel")
