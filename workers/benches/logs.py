"""`bench logs`: the log corpus through HTTP into real web, consumer, Postgres and Valkey processes.

Told: lines per CPU second of all four together until the lines are durable and analysed, wall
clock, bytes on disk per byte of message text, peak memory of the consumer; then what the queries
take whose right answers are known (logqueries.py), once JSON lines are stored, and once parcels
are. --door takes one door (segments or parcels as our agent sends them, or JSON lines); --scale
makes the job longer. Of parcels the CPU of the agents that packed them is told too. The corpus is
made once and kept below LASTGOOD_HOME.
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from workers.benches.logcorpus import folder_of
from workers.benches.logfill import Filled, fill
from workers.benches.logqueries import measure
from workers.benches.logsend import DOORS, LINES, PACKED, SEGMENTS
from workers.benches.logtape import CorpusOptions
from workers.benches.processes import processes
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import servers

_MIB = 1 << 20


def run(options: BenchOptions) -> BenchReport:
    """Fills a Lastgood of its own through each door."""
    corpus = folder_of(settings.HOME, CorpusOptions(scale=options.scale))
    truth = json.loads((corpus / "truth.json").read_text(encoding="utf-8"))
    figures: dict[str, Any] = {"lines": truth["lines"], "message_bytes": truth["msg_bytes"]}
    for door in [options.door] if options.door else DOORS:
        with servers() as running:
            with processes(running) as started:
                filled = fill(started, corpus, door)
            figures[door] = _figures(filled, truth)
            if door == PACKED:
                figures["packed_agents"] = _of_agents(filled)
            if door != SEGMENTS:  # of levels truth.json counts what JSON lines say
                restart, levels = running.restart_postgres, door == LINES
                asked = measure(filled.run_id, truth, restart, levels=levels)
                figures["queries" if levels else "packed_queries"] = asked
    return BenchReport(("what", "value"), tuple(_rows(figures)), figures)


def _figures(filled: Filled, truth: dict[str, Any]) -> dict[str, Any]:
    message_bytes = truth["msg_bytes"]
    logs = {part: size for part, size in filled.disk_bytes.items() if part != "metrics"}
    return {
        "stored_lines": filled.counters.get("lines", 0),
        "lines_per_cpu_s": round(filled.lines_per_cpu_s),
        "lines_per_s": round(filled.lines / filled.wall_s),
        "wall_s": round(filled.wall_s, 2),
        **{f"{name}_cpu_s": round(cpu_s, 2) for name, cpu_s in filled.cpu_s.items()},
        "sent_mib": filled.sent_bytes // _MIB,
        "disk_bytes_per_message_byte": round(sum(logs.values()) / message_bytes, 4),
        **{f"{part}_mib": round(size / _MIB, 1) for part, size in filled.disk_bytes.items()},
        "consumer_peak_mib": filled.consumer_peak_bytes // _MIB,
    }


def _of_agents(filled: Filled) -> dict[str, Any]:
    """What reading and packing cost the nodes, without reading files; and all together."""
    everything_s = filled.agent_cpu_s + sum(filled.cpu_s.values())
    a_second = filled.lines / max(filled.agent_cpu_s, 0.01)
    return {
        "cpu_s": round(filled.agent_cpu_s, 2),
        "lines_per_cpu_s": round(a_second),
        "lines_per_s_of_a_node_for_1_percent_of_a_core": round(a_second / 100),
        "lines_per_cpu_s_with_the_server": round(filled.lines / everything_s),
    }


def _rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for name, value in figures.items():
        if isinstance(value, dict):
            rows += [(f"{name}: {what.replace('_', ' ')}", f"{x:,}") for what, x in value.items()]
        else:
            rows.append((name.replace("_", " "), f"{value:,}"))
    return rows
