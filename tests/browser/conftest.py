"""A real browser against real processes. Missing Chromium: skipped, or failed where it must be."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.stack import Stack, free_port

CHROMIUM = next(
    (p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None
)
REQUIRED = os.environ.get("LASTGOOD_REQUIRE_BROWSER") == "1"
MISSING = "no chromium on this machine (apt-get install chromium)"
PASSWORD = "a long enough password"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
PHONE = {"viewport": {"width": 360, "height": 780}, "has_touch": True}
PATIENCE_MS = 60_000
"""How long a page may take until it shows what is expected: CI is busy, and a page that is right is
not waited for."""
LIVE = ".live[data-state=live]"
"""A page that hears: what changed before it did, it does not show by itself."""
FIRST = "test_a_new_user_gets_from_the_first_row_to_recovered"
"""The walk that needs the site empty."""


def pytest_collection_modifyitems(items):
    """The walk of a new user is the first of the browser tests: they share a site."""
    places = [at for at, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    walks = sorted((items[at] for at in places), key=lambda item: item.path.stem != FIRST)
    for at, item in zip(places, walks, strict=True):
        items[at] = item


FITS = "() => document.documentElement.scrollWidth <= innerWidth"


def fits(page: object) -> bool:
    """Whether nothing is wider than the screen."""
    return bool(page.evaluate(FITS))


@pytest.fixture(scope="package")
def chromium():
    """The browser; stopped before other tests run, as its loop forbids the ORM in this thread."""
    if CHROMIUM is None:
        (pytest.fail if REQUIRED else pytest.skip)(MISSING)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def site(chromium, tmp_path_factory):
    """Lastgood as processes: servers, web, events, writer; one person who may operate."""
    running = Stack(tmp_path_factory.mktemp("browser"))
    port = free_port()
    running.env |= {
        "EVENTS_URL": f"http://127.0.0.1:{port}/events",
        "CHECKPOINT_ROOTS": str(running.home),
        "EVALUATION_PROGRAMS": "/bin/true",
    }
    try:
        running.start_web()
        running.start_writer()
        running.start_events(port)
        running.manage("shell", "-c", _USER)
        yield running
    finally:
        running.stop()


_USER = (
    "from django.contrib.auth.models import User\n"
    f"User.objects.create_superuser('ada', '', {PASSWORD!r})"
)


@pytest.fixture(scope="package")
def exploded(site, tmp_path_factory):
    """The run "lrbump" up to where its first start ended: exploded, with an open incident."""
    from workers.demo import recordings

    folder = first_start_of(recordings.unpack("lrbump", tmp_path_factory.mktemp("recording")))
    site.manage("load", str(folder), "--run", "lrbump", "--wait")
    (incident,) = site.get("incidents?run=lrbump")["items"]
    return incident


def first_start_of(folder: Path) -> Path:
    """Removes the second start of a recorded run."""
    for path in (*folder.glob("*-2"), *folder.glob("*-2.log")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in sorted((folder / "wandb").glob("offline-run-*"))[1:]:
        shutil.rmtree(path)
    events = folder / "checkpoint_events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    steps = [json.loads(line)["step"] for line in lines]
    falls = (i for i in range(1, len(steps)) if steps[i] <= steps[i - 1])
    events.write_text("".join(lines[: next(falls, len(lines))]))
    return folder


@pytest.fixture(scope="package")
def session(site, chromium):
    """The cookies of ada, who has signed in on the login page."""
    context = chromium.new_context(base_url=site.url)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto("/login/")
    page.fill("#id_username", "ada")
    page.fill("#id_password", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url("**/")
    state = context.storage_state()
    context.close()
    return state


class Page:
    """A Playwright page of a logged-in person that remembers what the console complained about."""

    def __init__(self, context: object) -> None:
        self.context = context
        context.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: object) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open_deck(self, path: str) -> object:
        """A page with charts, once they are drawn."""
        self.page.goto(path)
        self.page.wait_for_selector("[data-drawn]")
        return self.page


@pytest.fixture
def visit(site, chromium, session):
    """visit(**context) gives a logged-in Page; each must end without a complaint.

    storage_state=None: of somebody who is not signed in.
    """
    opened: list[Page] = []

    def open_page(**context: object) -> Page:
        options = {
            "base_url": site.url,
            "viewport": {"width": 1440, "height": 900},
            "storage_state": session,
            **context,
        }
        made = chromium.new_context(**options)
        opened.append(Page(made))
        return opened[-1]

    yield open_page
    heard = [complaint for page in opened for complaint in page.complaints]
    for page in opened:
        page.context.close()
    assert heard == []
