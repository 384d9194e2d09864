"""One connection a tab, and nothing that asks by itself while nobody looks."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TICKING = {"app.js", "deck_age.js", "live.js"}
"""Ages are told anew every few seconds; live.js asks when it cannot hear. Neither while hidden."""


def scripts_with(words):
    return {path.name for path in (ROOT / "static/js").glob("*.js") if words in path.read_text()}


def test_only_one_script_opens_an_event_stream():
    assert scripts_with("new EventSource") == {"live.js"}


def test_nothing_else_asks_again_and_again():
    assert scripts_with("setInterval") == TICKING
    polled = [
        path for path in (ROOT / "templates").rglob("*.html")
        if re.search(r'hx-trigger="[^"]*every ', path.read_text())
    ]  # fmt: skip
    assert polled == []


def test_only_that_script_asks_so_that_it_learns_of_a_session_that_has_ended():
    asking = re.compile(r"(?<!async )(?<![.\w])fetch\(")
    scripts = (ROOT / "static/js").glob("*.js")
    assert {path.name for path in scripts if asking.search(path.read_text())} == {"live.js"}


def test_every_part_that_follows_the_run_is_on_a_page_that_hears():
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        if "live-slow" in text and "{% extends" in text:
            assert "dashboard/_live.html" in text, path
