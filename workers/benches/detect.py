"""`bench detect`: what watching a run of many series costs, and how far layers are ahead of a loss.

Cost: rows of 500 series (--keys) and a loss are written to a Postgres of the bench's own in flushes
of several sizes; `metrics.services.detect` is measured alone, with all its detectors, its
statements, the reading of the new rows and the storing of states, in CPU seconds of this process
and with those of Postgres. Beside it the bank alone, in memory, at several numbers of series.

Leads: with --data a folder as `bench spikes` reads it; its runs that log statistics of the model
are judged by both detectors, row by row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from apps.core.records import MetricRow
from apps.metrics import services, store
from apps.metrics.domain import bank
from apps.metrics.domain.bank import BankPolicy, Demand, Rows
from apps.metrics.domain.blocks import Floats
from apps.runs import store as runs
from workers.benches import leads
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import BenchServers, servers

SERIES, STEPS = 500, 2_048
FLUSHES = (16, 64, 256)
"""Rows a look: a run that logs a row a second or faster gathers so many between two."""
SIZES = (50, 500, 5_000)
_STEP_NS = 400_000_000


def run(options: BenchOptions) -> BenchReport:
    """Points per CPU second of the detection; with --data also the leads of its runs."""
    series, steps = options.keys or SERIES, options.steps or STEPS
    figures: dict[str, Any] = {"series": series, "steps": steps}
    for size in SIZES if options.keys is None else (series,):
        figures[f"bank_points_per_cpu_s_{size}_series"] = _bank_alone(size, steps * series // size)
    with servers() as running:
        for rows in FLUSHES:
            own, both = _detect(running, rows, (series, steps))
            figures[f"points_per_cpu_s_{rows}_rows_a_look"] = own
            figures[f"points_per_cpu_s_with_postgres_{rows}_rows_a_look"] = both
    table = [(name.replace("_", " "), f"{value:,}") for name, value in figures.items()]
    if options.data:
        told, counted = leads.of_folder(options.data)
        table += told
        figures |= counted
    return BenchReport(("what", "value"), tuple(table), figures)


def _values(series: int, steps: int) -> Floats:
    """Norms that fall slowly under noise, and single values far out, as healthy runs have them."""
    rng = np.random.default_rng(1)
    level = 2.0 / (1 + np.arange(steps) / 1_000)
    values = level[:, None] * (1 + 0.05 * rng.standard_normal((steps, series)))
    values[rng.random(values.shape) < 1 / 2_000] *= 8
    return values


def _bank_alone(series: int, steps: int) -> int:
    step = np.arange(steps, dtype=np.int64)
    rows = Rows(step, step * _STEP_NS, _values(series, steps))
    state = bank.of([Demand()] * series)
    started = time.process_time()
    for start in range(0, steps, 64):
        bank.feed(state, rows.part(start, start + 64), BankPolicy())
    return round(rows.values.size / (time.process_time() - started))


def _rows(series: int, steps: int) -> Iterator[MetricRow]:
    names = [f"{kind}/layers.{n}" for kind in _KINDS for n in range(-(-series // len(_KINDS)))]
    rng = np.random.default_rng(2)
    for at, line in enumerate(_values(series, steps)):
        loss = {"train/loss": 2.5 + 0.05 * rng.standard_normal(), "train/grad_norm": 0.6}
        values = dict(zip(names, line.astype(np.float32).tolist(), strict=False))
        yield MetricRow(at, at * _STEP_NS, {**loss, **values})


_KINDS = ("grad_norm", "update_ratio", "act_rms", "attn_logit_max", "param_norm")


def _detect(running: BenchServers, flush: int, size: tuple[int, int]) -> tuple[int, int]:
    """(points per CPU second of this process, with Postgres). The first eighth is not counted: the
    series are new then, and nothing is judged."""
    run_id = runs.ensure_run(f"bench-{flush}")
    runs.open_attempt(run_id, 0, 0)
    rows = list(_rows(*size))
    points, own_s, postgres_s = 0, 0.0, 0.0
    for start in range(0, len(rows), flush):
        part = rows[start : start + flush]
        store.write_rows(run_id, 0, part, source="bench")
        before = (time.process_time(), running.servers_cpu_s())
        services.detect(run_id, 0, 0)
        if start >= len(rows) // 8:
            points += sum(len(row.values) for row in part)
            own_s += time.process_time() - before[0]
            postgres_s += running.servers_cpu_s() - before[1]
    return round(points / own_s), round(points / (own_s + postgres_s))
