"""Bodies for the doors of node events, and what they tell, as few words as say it."""

from __future__ import annotations

from pathlib import Path

from apps.core.records import NodeEvent
from apps.ingest.nodes import parse as nodes
from apps.ingest.nodes.parse import Sender
from apps.ingest.nodes.views import DOORS
from apps.nodes.domain.conditions import change

FOLDER = Path(__file__).parent / "samples/nodes"
NS = 10**9
AT_NS = 1_796_004_669 * NS
"""2026-11-30 02:11:09 UTC"""
SAMPLES = {
    "alertmanager.json": "alertmanager",
    "dcgm.prom": "metrics",
    "node.prom": "metrics",
    "dmesg.log": "kernel",
    "kmsg.log": "kernel",
    "journald.jsonl": "kernel",
    "fabricmanager.log": "fabricmanager",
    "gpud-events.json": "gpud",
    "gpud-states.json": "gpud",
    "sel.txt": "ipmi",
    "sel.csv": "ipmi",
    "kubernetes-nodes.jsonl": "kubernetes",
    "kubernetes-events.json": "kubernetes",
    "kubernetes-pods.json": "kubernetes",
    "nvidia-smi.csv": "nvidia-smi",
    "nvidia-smi-pages.txt": "nvidia-smi",
    "nvidia-smi-nvlink.txt": "nvidia-smi",
    "superbench-diagnosis.jsonl": "superbench",
    "superbench-monitor.jsonl": "superbench",
    "slurm-nodes.txt": "slurm",
    "slurm-nodes.json": "slurm",
    "slurm-jobs.txt": "slurm",
    "slurm-jobs.json": "slurm",
}
"""File -> its door."""
NAMES_NODES = ("alertmanager", "kubernetes", "slurm")


def sender_for(door: str) -> Sender:
    """What the address says beside the body."""
    node = "" if door in NAMES_NODES else "gpu-a01"
    return Sender(node, AT_NS + 3_600 * NS, boot_ns=AT_NS - NS)


def heard(door: str, body: bytes) -> tuple[list[NodeEvent], dict[str, int]]:
    """Events of a body as they arrive, those of a first look too; what was left out."""
    batch = nodes.parse(nodes.pack(DOORS[door](body, sender_for(door))))
    looked = [event for look in batch.looks for event in change({}, look).events]
    return [*batch.events, *looked], {why: n for why, n in batch.left_out.items() if n}


def said(event: NodeEvent) -> str:
    """Node, seconds after AT_NS, kind, severity and device."""
    second = (event.time_ns - AT_NS) // NS
    device = f" {event.device}" if event.device else ""
    return f"{event.node} {second:+d} {event.kind} {event.severity}{device}"
