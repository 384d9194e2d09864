"""What SuperBench writes: monitor.jsonl of a node, diagnosis_summary.jsonl of a fleet.

Plain Python. A line of the monitor is a look at the GPUs of one node, a line of the diagnosis a
verdict on one node.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.core.errors import BadPayload
from apps.ingest import frames
from apps.ingest.exposition import meaning
from apps.ingest.nodes.parse import MAX_EVENTS, MAX_MESSAGE, SMALLER, NodeBatch, Sender, clean
from apps.ingest.readings import time_ns
from apps.nodes.domain.conditions import Look, Reading

SOURCE = "superbench"
_OF_GPU = re.compile(r"(?P<name>gpu_temperature|gpu_uncorrected_ecc):(?P<gpu>\d{1,4})")
_AS_METRIC: Final = {
    "gpu_temperature": "DCGM_FI_DEV_GPU_TEMP",
    "gpu_uncorrected_ecc": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
}
"""Fields of the monitor that mean the same as a metric of dcgm-exporter."""


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """A look for each line; what is neither is counted. BadPayload if a line is no JSON object, or
    a line of the monitor comes and nobody names the node."""
    looks: list[Look] = []
    unread = 0
    for at, line in enumerate(body.splitlines(), 1):
        if not line.strip():
            continue
        said = frames.decode(line, dict[str, Any], inside=f"line {at}")
        look = _look(said, sender)
        unread += look is None
        looks.extend([look] if look else [])
        if len(looks) > MAX_EVENTS:
            raise BadPayload(f"more than {MAX_EVENTS} lines", where="body", hint=SMALLER)
    return NodeBatch((), {"superbench_lines_unread": unread}, tuple(looks))


def _look(said: Mapping[str, Any], sender: Sender) -> Look | None:
    node, at_ns = said.get("index"), time_ns(said.get("time"))
    if isinstance(node, str) and node and "Category" in said:
        name = clean(node, 253)
        return Look(f"{SOURCE} diagnosis", name, sender.received_ns, (_verdict(said),))
    if at_ns is None or not 0 <= (moved := at_ns - sender.offset_s * 1_000_000_000) <= 2**62:
        return None
    return Look(SOURCE, sender.named(), moved, tuple(_gpus(said)))


def _verdict(said: Mapping[str, Any]) -> Reading:
    category, details = said.get("Category"), said.get("Defective Details")
    words = f"SuperBench {category or ''}: {details or ''}"
    return Reading("diagnosis", "benchmark", "error" if category else "", clean(words, MAX_MESSAGE))


def _gpus(said: Mapping[str, Any]) -> Iterator[Reading]:
    for field, value in said.items():
        found = _OF_GPU.fullmatch(field)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if found is None or not number or not math.isfinite(value) or abs(value) > 2**53:
            continue
        metric = _AS_METRIC[found["name"]]
        for watched in meaning.WATCHED[metric]:
            yield meaning.reading(metric, watched, {"gpu": found["gpu"]}, float(value))
