"""`make screenshots`: every page of the demo, in both themes and on a phone, into docs/img."""

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
from pathlib import Path
from typing import Any, Final

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
    "logs": "/runs/{run}/logs/?step=690-720",
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
INCIDENTS_S = 600.0
LOADED_MS = 30_000
_SCROLL = """async () => {
  for (let y = 0; y < document.body.scrollHeight; y += 400) {
    scrollTo(0, y);
    await new Promise((done) => setTimeout(done, 250));
  }
  scrollTo(0, 0);
}"""
"""Charts are drawn where somebody looks."""
_LOADED = """async (most) => {
  const until = performance.now() + most;
  const captions = [...document.querySelectorAll("[data-caption]")];
  const waits = () => captions.some((one) => one.textContent.includes("loading…"));
  while (waits() && performance.now() < until) await new Promise((done) => setTimeout(done, 200));
  return !waits();
}"""
_LINK = re.compile(r"https?://[^/\s]+(/login/\S+)")


def main(words: list[str]) -> int:
    """Takes the pictures; the exit status is 1 if a page complained in its console."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--into", type=Path, default=Path("docs/img"))
    parser.add_argument("--only", default="", help="names of pages, separated by commas")
    options = parser.parse_args(words)
    chosen = [name for name in options.only.split(",") if name] or list(PAGES)
    if unknown := set(chosen) - set(PAGES):
        raise AppError(f"no such page: {', '.join(sorted(unknown))}", hint=f"{', '.join(PAGES)}")
    options.into.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="lastgood-pictures-") as home,
        demo(home) as (base, path),
        chromium() as browser,
    ):
        complaints = _take(browser, base, path, options.into, chosen)
    for complaint in complaints:
        sys.stderr.write(f"{complaint}\n")
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


def _take(browser: Any, base: str, path: str, into: Path, chosen: list[str]) -> list[str]:
    """Pictures of the chosen pages; what their consoles said."""
    context = browser.new_context(base_url=base)
    page = context.new_page()
    page.goto(path)
    page.click("main button[type=submit]")
    page.wait_for_url(f"{base}/")
    incident = _incident(page)
    state, complaints = context.storage_state(), list[str]()
    for ending, (theme, width) in VIEWS.items():
        view = browser.new_context(
            base_url=base, storage_state=state, color_scheme=theme, reduced_motion="reduce",
            viewport={"width": width, "height": 900},
        )  # fmt: skip
        for name in chosen:
            address = PAGES[name].format(incident=incident, **SHOWN)
            complaints += _picture(view, address, into / f"{name}{ending}.png")
        view.close()
    return complaints


def _picture(view: Any, address: str, file: Path) -> list[str]:
    complaints: list[str] = []
    page = view.new_page()
    page.on("console", lambda said: complaints.extend([said.text] if said.type == "error" else ()))
    page.on("pageerror", lambda error: complaints.extend([str(error)]))
    answer = page.goto(address)
    if answer.status != 200:
        complaints.append(f"answered with status {answer.status}")
    page.evaluate(_SCROLL)
    if not page.evaluate(_LOADED, LOADED_MS):
        complaints.append("parts of it are still loading")
    page.wait_for_timeout(1_000)
    page.screenshot(path=str(file), full_page=True)
    page.close()
    sys.stdout.write(f"{file}\n")
    return [f"{address}: {complaint}" for complaint in complaints]


def _incident(page: Any) -> str:
    """The address of the incident of the shown run, once both runs have theirs."""
    until_s = time.monotonic() + INCIDENTS_S
    while time.monotonic() < until_s:
        page.goto("/incidents/")
        links = page.locator("main a[href^='/incidents/']").evaluate_all(
            "found => found.map((one) => [one.getAttribute('href'), one.closest('tr, li, article')"
            "?.innerText ?? one.innerText])"
        )
        numbered: dict[str, str] = {
            href: text for href, text in links if re.fullmatch(r"/incidents/\d+/", href)
        }
        if len(numbered) >= 2:
            return next(
                (h for h, text in numbered.items() if SHOWN["run"] in text), next(iter(numbered))
            )
        page.wait_for_timeout(2_000)
    raise AppError("the demo has not had its two incidents", hint="is the machine very busy?")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except AppError as error:
        sys.exit(str(error))
