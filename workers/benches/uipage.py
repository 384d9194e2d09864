"""A Chromium that opens the flight deck as a person does, and what it cost."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from apps.core.errors import AppError

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-precise-memory-info"]
VIEW = {"width": 1440, "height": 900}
DRAWN_MS = 120_000
LONG_TASK_MS = 200
_MIB = 1 << 20
_WATCH = """
window.bench = { tasks: [], complaints: [] };
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) bench.tasks.push([e.startTime, e.duration]);
}).observe({ type: "longtask", buffered: true });
document.addEventListener("securitypolicyviolation",
  (e) => bench.complaints.push(e.violatedDirective));
"""
_MARK = "name => performance.getEntriesByName(name).at(-1)?.startTime ?? null"
_COUNT = """
() => { bench.draws = 0; document.addEventListener("lg:drawn", () => { bench.draws += 1; }); }
"""
_REACHED = "last => document.querySelector('[data-deck]').deck.data.step >= last"
_ZOOM = """([a, b]) => new Promise((done) => {
  const deck = document.querySelector("[data-deck]").deck;
  const { start, end } = deck.data.axis;
  const at = (share) => start + share * (end - start);
  const began = performance.now();
  setTimeout(() => done(60_000), 60_000);
  deck.root.addEventListener("lg:fine", () => requestAnimationFrame(() =>
    setTimeout(() => done(performance.now() - began))), { once: true });
  deck.setRange([at(a), at(b)]);
})"""


@dataclass
class Seen:
    """What a visit cost. Milliseconds since the navigation began, each a median of cold visits.

    long_tasks_ms: of the main thread once the deck was usable, longest first. cpu_ms: of each
    server process, for the last of these visits.
    """

    first_paint_ms: float = 0.0
    loss_ms: float = 0.0
    usable_ms: float = 0.0
    js_wire_bytes: int = 0
    page_wire_bytes: int = 0
    heap_mib: float = 0.0
    dom_nodes: int = 0
    cpu_ms: dict[str, float] = field(default_factory=dict)
    zoom_ms: list[float] = field(default_factory=list)
    live: dict[str, float] = field(default_factory=dict)
    long_tasks_ms: list[float] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser. AppError where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise AppError("this needs playwright", hint="make setup installs it") from error
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        raise AppError("there is no chromium", hint="apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """One person with one tab."""

    def __init__(self, browser: Any, base: str, login: tuple[str, str]) -> None:
        context = browser.new_context(base_url=base, viewport=VIEW)
        context.add_init_script(_WATCH)
        self.page = context.new_page()
        self.wire = context.new_cdp_session(self.page)
        self.wire.send("Network.enable")
        self.wire.send("Performance.enable")
        self.kinds: dict[str, str] = {}
        self.bytes_of: dict[str, int] = {}
        self.complaints: list[str] = []
        self.wire.on("Network.responseReceived", self._answered)
        self.wire.on("Network.loadingFinished", self._loaded)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto("/login/")
        self.page.fill("#id_username", login[0])
        self.page.fill("#id_password", login[1])
        self.page.click("button[type=submit]")
        self.page.wait_for_url("**/")

    def _answered(self, event: Any) -> None:
        self.kinds[event["requestId"]] = event["type"]

    def _loaded(self, event: Any) -> None:
        kind = self.kinds.get(event["requestId"], "Other")
        self.bytes_of[kind] = self.bytes_of.get(kind, 0) + int(event["encodedDataLength"])

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open_cold(self, path: str) -> dict[str, float]:
        """Opens a page with an empty cache; milliseconds to its marks."""
        self.wire.send("Network.clearBrowserCache")
        self.bytes_of.clear()
        self.page.goto("about:blank")
        self.page.goto(path)
        self.page.wait_for_selector("[data-drawn]", timeout=DRAWN_MS)
        usable = "() => performance.getEntriesByName('deck:usable').length > 0"
        self.page.wait_for_function(usable, timeout=DRAWN_MS)
        marks = {name: self.page.evaluate(_MARK, f"deck:{name}") for name in ("loss", "usable")}
        return {**marks, "paint": self.page.evaluate(_MARK, "first-contentful-paint") or 0.0}

    def zoom(self, part: tuple[float, float]) -> float:
        """Milliseconds from choosing a range to the frame after the finer data is drawn."""
        return float(self.page.evaluate(_ZOOM, list(part)))

    def busy_s(self) -> float:
        """Seconds of work of the page's main thread so far."""
        told = self.wire.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in told if m["name"] == "TaskDuration"))

    def long_tasks_ms(self, since_ms: float) -> list[float]:
        """Tasks of at least 50 ms that began since then, longest first."""
        tasks = self.page.evaluate("bench.tasks")
        return sorted((round(took, 1) for at, took in tasks if at >= since_ms), reverse=True)

    def heap_mib(self) -> float:
        """Living JavaScript objects."""
        self.wire.send("HeapProfiler.collectGarbage")
        return float(self.wire.send("Runtime.getHeapUsage")["usedSize"]) / _MIB


def visit(
    visitor: Visitor,
    path: str,
    *,
    times: int,
    tell: Callable[[], int],
    updates: int,
    cpu_s: Callable[[], dict[str, float]],
) -> Seen:
    """Opens the deck cold several times, zooms, then watches it while rows come once a second.

    tell: sends a row. cpu_s: what each server process has used so far.
    """
    loads = [visitor.open_cold(path) for _ in range(times - 1)]
    before = cpu_s()
    loads.append(visitor.open_cold(path))
    used = cpu_s()
    seen = Seen(
        cpu_ms={name: round((used[name] - before[name]) * 1e3) for name in used},
        first_paint_ms=statistics.median(load["paint"] for load in loads),
        loss_ms=statistics.median(load["loss"] for load in loads),
        usable_ms=statistics.median(load["usable"] for load in loads),
        js_wire_bytes=visitor.bytes_of.get("Script", 0),
        page_wire_bytes=sum(visitor.bytes_of.values()),
        dom_nodes=visitor.page.evaluate("document.querySelectorAll('*').length"),
    )
    for part in ((0.4, 0.6), (0.45, 0.55), (0.495, 0.505), (-5.0, 6.0)):
        seen.zoom_ms.append(visitor.zoom(part))
    visitor.page.keyboard.press("0")
    seen.live = _watch(visitor, tell, updates)
    seen.heap_mib = visitor.heap_mib()
    seen.long_tasks_ms = visitor.long_tasks_ms(loads[-1]["usable"])
    seen.complaints = [*visitor.complaints, *visitor.page.evaluate("bench.complaints")]
    return seen


def _watch(visitor: Visitor, tell: Callable[[], int], updates: int) -> dict[str, float]:
    """Per update: work of the page, bytes and draws, while `tell` sends a row a second."""
    page = visitor.page
    page.wait_for_timeout(2_000)
    page.evaluate(_COUNT)
    visitor.bytes_of.clear()
    busy_s, began, last = visitor.busy_s(), time.monotonic(), 0
    for _ in range(updates):
        last = tell()
        page.wait_for_timeout(1_000)
    page.wait_for_function(_REACHED, arg=last, timeout=DRAWN_MS)
    took_s, draws = time.monotonic() - began, page.evaluate("bench.draws")
    return {
        "updates": updates,
        "draws": draws,
        "draws_per_s": round(draws / took_s, 2),
        "main_thread_ms_per_draw": round((visitor.busy_s() - busy_s) / max(draws, 1) * 1e3, 1),
        "bytes_per_draw": round(sum(visitor.bytes_of.values()) / max(draws, 1)),
    }
