"""`make screenshots`: every page of the demo, in both themes and on a phone, into docs/img.

One demo, one browser, one tab a theme. A page is pictured once it has settled: nothing is on its
way, nothing says that it loads, and nothing has changed for a moment.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from PIL import Image

from apps.core.errors import AppError
from workers.benches.uipage import chromium
from workers.embedded.probes import free_port

SHOWN: Final = {"run": "sdc_rollback", "project": "pysource-gpt", "host": "gpu-b02"}
"""What of the demo stands for {run}, {project} and {host} of an address."""
PAGES: Final[Mapping[str, str]] = {
    "runs": "/",
    "connect": "/connect/",
    "search": "/search/?q=gpu",
    "projects": "/projects/",
    "settings": "/settings/",
    "settings-projects": "/settings/projects/",
    "settings-project": "/settings/projects/{project}/",
    "settings-retention": "/settings/retention/",
    "members": "/settings/members/",
    "member": "/settings/members/1/",
    "tokens": "/settings/tokens/",
    "password": "/settings/password/",
    "help": "/help/",
    "flight-deck": "/runs/{run}/",
    "series": "/runs/{run}/series/",
    "layers": "/runs/{run}/layers/",
    "ranks": "/runs/{run}/ranks/",
    "logs": "/runs/{run}/logs/?q=local_loss+step:690-720",
    "log-ranks": "/runs/{run}/logs/ranks/",
    "log-patterns": "/runs/{run}/logs/patterns/",
    "attempts": "/runs/{run}/attempts/",
    "checkpoints": "/runs/{run}/checkpoints/",
    "checkpoint": "/runs/{run}/checkpoints/0/600/",
    "run-storage": "/runs/{run}/storage/",
    "retention": "/runs/{run}/retention/",
    "evaluations": "/runs/{run}/evaluations/",
    "planning": "/runs/{run}/planning/",
    "siblings": "/runs/{run}/siblings/",
    "planned": "/runs/{run}/planned/",
    "launcher": "/runs/{run}/launcher/",
    "rollback": "/runs/{run}/rollback/?step=600",
    "stop": "/runs/{run}/stop/",
    "incidents": "/incidents/",
    "incident": "{incident}",
    "log-chooser": "/logs/",
    "checkpoint-chooser": "/checkpoints/",
    "nodes": "/nodes/",
    "node": "/nodes/{host}/",
    "links": "/links/",
    "alerts": "/alerts/",
    "alert-rule": "/alerts/rules/new/",
    "alert-channel": "/alerts/channels/new/?kind=slack",
    "deliveries": "/alerts/deliveries/",
    "my-alerts": "/alerts/mine/",
    "audit": "/audit/",
    "ingest": "/ingest/",
    "labels": "/ingest/labels/",
    "storage": "/storage/",
    "storage-root": "/storage/new/",
    "goodput": "/goodput/",
    "names": "/projects/{project}/names/",
    "detectors": "/projects/{project}/detectors/",
    "fault-classes": "/projects/{project}/fault-classes/",
    "signals": "/projects/{project}/rank-signals/",
    "kept-logs": "/projects/{project}/kept-logs/",
    "suites": "/projects/{project}/evaluations/",
    "rollback-rules": "/projects/{project}/rollback/",
    "styleguide": "/styleguide/",
}
"""File name -> address; {incident}: the page of the incident of {run}. Browser tests walk them."""
VIEWS: Final = {
    "": ("light", 1360),
    "-dark": ("dark", 1360),
    "-phone": ("light", 390),
}
"""End of the file name -> theme and width in pixels."""
HEIGHT: Final = 900
"""Of the window in which pages are looked at, in pixels."""
TALLEST: Final = 16_383
"""What WebP holds, in pixels; what lies below it on a page is not on its picture."""
ENDING = ".webp"
"""Of the files. Lossless, a third of a PNG's size, and what renders Markdown shows it."""
INCIDENTS_S = 600.0
SETTLED_S = 30.0
"""A page that has not settled by then is one that does not."""
_LOOK_EVERYWHERE = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 40)));
  for (let y = 0; y < document.body.scrollHeight; y += 600) {
    scrollTo(0, y);
    await frame();
  }
  scrollTo(0, 0);
}"""
"""Charts are drawn where somebody looks."""
_QUIET = """() => new Promise((done) => {
  const page = document.querySelector("main") ?? document.body;
  const changes = new MutationObserver(() => finish(false));
  const quiet = setTimeout(() => finish(!loads()), 350);
  const loads = () => document.querySelector("[aria-busy=true]") !== null
    || [...document.querySelectorAll("[data-caption]")]
      .some((one) => one.textContent.includes("loading…"));
  const finish = (is) => { changes.disconnect(); clearTimeout(quiet); done(is); };
  changes.observe(page, { childList: true, subtree: true, attributes: true });
})"""
_ROWS = """(found) => found.map((one) => [
  one.getAttribute("href"),
  one.closest("tr, li, article")?.innerText ?? one.innerText,
])"""
_LINK = re.compile(r"https?://[^/\s]+(/login/\S+)")


def main(words: list[str]) -> int:
    """Takes the pictures; the exit status is 1 if a page complained or did not settle."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--into", type=Path, default=Path("docs/img"))
    parser.add_argument("--only", default="", help="names of pages, separated by commas")
    options = parser.parse_args(words)
    chosen = [name for name in options.only.split(",") if name] or list(PAGES)
    if unknown := set(chosen) - set(PAGES):
        raise AppError(f"no such page: {', '.join(sorted(unknown))}", hint=f"{', '.join(PAGES)}")
    options.into.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()
    _say("a demo starts, and both of its runs explode")
    with (
        tempfile.TemporaryDirectory(prefix="lastgood-pictures-") as home,
        demo(home) as (base, path),
        chromium() as browser,
    ):
        session, incident = sign_in(browser, base, path)
        addresses = {name: PAGES[name].format(incident=incident, **SHOWN) for name in chosen}
        complaints = take(browser, base, session, options.into, addresses)
    for complaint in complaints:
        sys.stderr.write(f"{complaint}\n")
    _say(
        f"{len(chosen)} pages, {len(chosen) * len(VIEWS)} pictures in {options.into}, "
        f"{len(complaints)} complaints, {time.monotonic() - began_s:.0f} s"
    )
    return bool(complaints)


@contextmanager
def demo(home: str) -> Iterator[tuple[str, str]]:
    """A demo at twenty times the recorded speed: its address, and the path that signs in."""
    port = free_port()
    env = {**os.environ, "LASTGOOD_HOME": home, "PORT": str(port), "SPEED": "20"}
    with subprocess.Popen(
        [sys.executable, "-m", "workers.demo"], env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield f"http://127.0.0.1:{port}", _signed_in_by(process)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def _signed_in_by(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if found := _LINK.search(line):
            return found[1]
    raise AppError("the demo ended before it was ready", hint="make demo shows why")


def sign_in(browser: Any, base: str, path: str) -> tuple[Any, str]:
    """The session that a one-time link opens, and the address of the incident to show."""
    context = browser.new_context(base_url=base)
    page = context.new_page()
    page.goto(path)
    incident, session = _incident(page), context.storage_state()
    context.close()
    return session, incident


def _incident(page: Any) -> str:
    """The address of the incident of the shown run, once both runs have theirs."""
    until_s = time.monotonic() + INCIDENTS_S
    while time.monotonic() < until_s:
        page.goto("/incidents/")
        links = page.locator("main a[href^='/incidents/']").evaluate_all(_ROWS)
        incidents: dict[str, str] = {
            href: text for href, text in links if re.fullmatch(r"/incidents/\d+/", href)
        }
        if len(incidents) >= 2:
            return next(
                (href for href, text in incidents.items() if SHOWN["run"] in text),
                next(iter(incidents)),
            )
        page.wait_for_timeout(2_000)
    raise AppError("the demo has not had its two incidents", hint="is the machine very busy?")


def take(
    browser: Any, base: str, session: Any, into: Path, addresses: Mapping[str, str]
) -> list[str]:
    """Pictures of the addresses by name, in every view; what was wrong with them."""
    from playwright.sync_api import Error as PlaywrightError

    cameras = {
        ending: Camera(browser, base, session, theme, width)
        for ending, (theme, width) in VIEWS.items()
    }
    complaints = []
    for n, (name, address) in enumerate(addresses.items(), 1):
        began_s = time.monotonic()
        for ending, camera in cameras.items():
            try:
                found = camera.picture(address, into / f"{name}{ending}{ENDING}")
            except PlaywrightError as error:
                found = [f"no picture: {error.message}"]
            complaints += [f"{name}{ending} ({address}): {one}" for one in found]
        took_s = time.monotonic() - began_s
        _say(f"{n:3}/{len(addresses)}  {took_s:5.1f} s  {name}  {address}")
    return complaints


class Camera:
    """One tab of one theme and width."""

    def __init__(self, browser: Any, base: str, session: Any, theme: str, width: int) -> None:
        context = browser.new_context(
            base_url=base, storage_state=session, color_scheme=theme, reduced_motion="reduce",
            viewport={"width": width, "height": HEIGHT},
        )  # fmt: skip
        self._width = width
        self._page = context.new_page()
        self._complaints: list[str] = []
        self._on_their_way = 0
        self._page.on("console", self._heard)
        self._page.on("pageerror", lambda error: self._complaints.append(str(error)))
        self._page.on("request", lambda request: self._count(request, 1))
        self._page.on("requestfinished", lambda request: self._count(request, -1))
        self._page.on("requestfailed", lambda request: self._count(request, -1))

    def _heard(self, said: Any) -> None:
        """What a browser says against a page; a breach of the content security policy too."""
        if said.type == "error":
            self._complaints.append(said.text)

    def _count(self, request: Any, change: int) -> None:
        if request.resource_type != "eventsource":
            self._on_their_way += change

    def picture(self, address: str, file: Path) -> list[str]:
        """Writes the whole page as a picture; what was wrong with it."""
        self._page.goto("about:blank")
        self._complaints.clear()
        self._on_their_way = 0
        answer = self._page.goto(address)
        if answer.status != 200:
            self._complaints.append(f"answered with status {answer.status}")
        self._page.evaluate(_LOOK_EVERYWHERE)
        if not self._settles():
            self._complaints.append(f"had not settled after {SETTLED_S:.0f} s")
        self._whole().save(file, lossless=True)
        return list(self._complaints)

    def _whole(self) -> Image.Image:
        """All of the page, in a window of its size: what sticks to an edge is at the edge."""
        height = self._page.evaluate("document.documentElement.scrollHeight")
        height = min(max(height, HEIGHT), TALLEST)
        self._page.set_viewport_size({"width": self._width, "height": height})
        self._page.wait_for_timeout(200)
        seen = Image.open(BytesIO(self._page.screenshot())).convert("RGB")
        self._page.set_viewport_size({"width": self._width, "height": HEIGHT})
        return seen

    def _settles(self) -> bool:
        until_s = time.monotonic() + SETTLED_S
        while time.monotonic() < until_s:
            if self._page.evaluate(_QUIET) and self._on_their_way <= 0:
                return True
        return False


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except AppError as error:
        sys.exit(str(error))
