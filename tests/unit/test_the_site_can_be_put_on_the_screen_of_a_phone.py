"""static/manifest.webmanifest: what a phone needs to install the site, and only what is there.

The icons are favicon.svg as Chromium draws it; the maskable one is full bleed, its drawing four
fifths as large.
"""

import json
import re
import struct
from pathlib import Path

import pytest
from django.urls import resolve

ROOT = Path(__file__).parents[2]
MANIFEST = json.loads((ROOT / "static/manifest.webmanifest").read_text())
ICONS = {icon["src"]: icon for icon in MANIFEST["icons"]}
HEAD = (ROOT / "templates/frame/_icons.html").read_text()


def size_of(png):
    """Width and height that a PNG says it has."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return "{}x{}".format(*struct.unpack(">II", png[16:24]))


@pytest.mark.parametrize("src", [src for src in ICONS if src.endswith(".png")])
def test_each_icon_is_as_large_as_it_says(src):
    assert size_of((ROOT / src[1:]).read_bytes()) == ICONS[src]["sizes"]


def test_browsers_ask_for_these_three_icons():
    sizes = [(icon["sizes"], icon.get("purpose", "any")) for icon in ICONS.values()]
    assert {("192x192", "any"), ("512x512", "any"), ("512x512", "maskable")} <= set(sizes)
    assert size_of((ROOT / "static/icons/app-180.png").read_bytes()) == "180x180"


def test_it_opens_pages_that_there_are():
    pages = [MANIFEST["start_url"], *(one["url"] for one in MANIFEST["shortcuts"])]
    assert [resolve(page).url_name for page in pages] == ["runs", "incidents", "log_chooser"]


def test_its_colours_are_those_of_the_product():
    light, dark = re.search(
        r"--bg: light-dark\((#\w+), (#\w+)\)", (ROOT / "static/css/tokens.css").read_text()
    ).groups()
    assert {MANIFEST["theme_color"], MANIFEST["background_color"]} == {dark}
    assert re.findall(r'content="(#\w+)"', HEAD) == [light, dark]
