"""`bench ui`: what the flight deck costs in Chromium, on a large run of real processes.

Web, events, consumer, Postgres and Valkey run as in production; a browser opens the deck with an
empty cache, zooms, and watches while a row comes each second. The usual size is a tenth in each
direction; all of it is --steps 1000000 --keys 500 --layers 126 --ranks 1024. Budgets are judged in
the figures ("over"): they hold for a quiet machine with two cores.
"""

from __future__ import annotations

import http.client
import logging
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict

import numpy as np
import orjson
from django.conf import settings
from django.contrib.auth.models import User

from apps.core.errors import AppError
from workers.benches import uifill, uipage
from workers.benches.processes import child, processes, wait_until
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import servers
from workers.benches.uifill import Filled, Size
from workers.benches.uipage import LONG_TASK_MS, Seen
from workers.benches.wandb_load import post
from workers.embedded.probes import free_port
from workers.embedded.server import HOST
from workers.supervisor import probes

STEPS, KEYS, LAYERS, RANKS = 100_000, 50, 12, 128
COLD_VISITS, UPDATES = 3, 10
USABLE_MS, ZOOM_MS, JS_BYTES = 2_500, 1_000, 650_000
log = logging.getLogger(__name__)
_LOGIN = ("bench", "a long enough password")


def run(options: BenchOptions) -> BenchReport:
    """First paint, usable, zoom, live, bytes, memory and long tasks of one deck."""
    size = Size(
        options.steps or STEPS, options.keys or KEYS, options.layers or LAYERS,
        options.ranks or RANKS,
    )  # fmt: skip
    port = free_port()
    events = f"http://{HOST}:{port}/events"
    os.environ["EVENTS_URL"] = events
    with ExitStack() as stack:
        running = stack.enter_context(servers())
        started = stack.enter_context(processes(running))
        words = ("-m", "granian", "--interface", "asginl", "--host", HOST, "--port", str(port),
                 "config.asgi:application")  # fmt: skip
        env = {
            **os.environ,
            "LASTGOOD_HOME": str(running.home),
            "DATABASE_URL": running.database_url,
            "REDIS_URL": settings.REDIS_URL,
            "PORT": str(started.port),
        }
        stack.enter_context(child("events", words, running.home, env))
        wait_until(lambda: probes.http_ok(HOST, port, "/health/live") is None, "events")
        User.objects.create_superuser(_LOGIN[0], "", _LOGIN[1])
        log.info("bench.ui.fill")
        filled = uifill.fill(started, size)
        log.info("bench.ui.browse")
        browser = stack.enter_context(uipage.chromium())
        visitor = uipage.Visitor(browser, f"http://{HOST}:{started.port}", _LOGIN)
        tell = _teller(started.port, size, filled)
        path = f"/runs/{uifill.RUN}/"
        seen = uipage.visit(
            visitor,
            path,
            times=COLD_VISITS,
            tell=tell,
            updates=UPDATES,
            cpu_s=started.parts_cpu_s,
        )
    return _report(size, filled, seen)


def _teller(port: int, size: Size, filled: Filled) -> Callable[[], int]:
    """A function that sends the next row of the newest attempt, and gives its step."""
    steps = iter(range(filled.next_step, 1 << 62))

    def tell() -> int:
        step = next(steps)
        row = uifill.values(size, filled.names, np.asarray([step]))[0]
        told = dict(zip(filled.names, map(float, row), strict=True))
        at_ns = filled.next_ns + (step - filled.next_step) * uifill.STEP_NS
        body = {"attempt": 1, "rows": [{"step": step, "time_ns": at_ns, "values": told}]}
        link = http.client.HTTPConnection(HOST, port, timeout=30)
        headers = {"Authorization": f"Bearer {filled.token}", "Content-Type": "application/json"}
        said = post(link, f"/api/v1/runs/{uifill.RUN}/metrics", orjson.dumps(body), headers)
        link.close()
        if said:
            raise AppError(said)
        return step

    return tell


def _report(size: Size, filled: Filled, seen: Seen) -> BenchReport:
    slowest_zoom = max(seen.zoom_ms)
    longest = max(seen.long_tasks_ms, default=0.0)
    rows = (
        ("loss painted, ms", seen.loss_ms, None),
        ("deck usable cold, ms", seen.usable_ms, USABLE_MS),
        ("CPU of web for one visit, ms", seen.cpu_ms["web"], None),
        ("CPU of Postgres for one visit, ms", seen.cpu_ms["postgres"], None),
        ("slowest zoom, ms", slowest_zoom, ZOOM_MS),
        ("JavaScript on the wire, bytes", seen.js_wire_bytes, JS_BYTES),
        ("longest task after load, ms", longest, LONG_TASK_MS),
        ("main thread a live draw, ms", seen.live["main_thread_ms_per_draw"], LONG_TASK_MS),
        ("live draws a second", seen.live["draws_per_s"], 1.05),
        ("heap, MiB", seen.heap_mib, None),
        ("DOM nodes", seen.dom_nodes, None),
        ("complaints of the console and the CSP", len(seen.complaints), 0),
    )
    figures = {
        **asdict(size),
        "points": filled.points,
        **asdict(seen),
        "over": [name for name, value, budget in rows if budget is not None and value > budget],
    }
    table = tuple(
        (name, f"{value:,.1f}", "-" if budget is None else f"{budget:,}")
        for name, value, budget in rows
    )
    return BenchReport(("what", "measured", "budget"), table, figures)
