"""axe-core (WCAG 2.2 AA) on every page, in both themes and on a phone, and on what opens there."""

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import TimeoutError as TooLate

from tests.browser import pages
from tests.browser.axe import found_by_axe
from tests.browser.conftest import FITS, Page

COLOURS = ["color-contrast", "link-in-text-block"]
"""What another theme can change."""
SHAPES = [
    "target-size", "button-name", "link-name", "label", "select-name", "aria-hidden-focus",
    "scrollable-region-focusable",
]  # fmt: skip
"""What another width can change."""
DESK, PHONE = {"width": 1280, "height": 720}, {"width": 360, "height": 780}
_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth)
  .map((one) => `wider than the screen: ${one.outerHTML.slice(0, 100)}`).slice(0, 9)"""
_THEME = """(theme) => {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new CustomEvent("lg:theme"));
}"""


@pytest.fixture(scope="module")
def tab(chromium, site, session):
    """One tab for all pages."""
    context = chromium.new_context(
        base_url=site.url, storage_state=session, color_scheme="light", reduced_motion="reduce",
        viewport=DESK,
    )  # fmt: skip
    yield Page(context)
    context.close()


@pytest.fixture(scope="module")
def shown(site, exploded, tab):
    """What stands for the placeholders of the addresses."""
    run = site.get("runs/lrbump")
    cookies = {one["name"]: one["value"] for one in tab.context.cookies()}
    return {
        "run": "lrbump",
        "project": run["project"] or "-",
        "host": site.get("nodes")["items"][0]["name"],
        "incident": f"/incidents/{exploded['id']}/",
        **pages.make(site, tab.context.request, cookies["lastgood_csrf"]),
    }


def in_state(page, reach, part):
    """What it finds in a part of the page once that is there."""
    reach(page)
    page.locator(part).first.wait_for()
    return found_by_axe(page, part=part)


def faults(tab):
    """What is wrong with what is shown: on a desk, in the dark, on a phone, in the console."""
    page = tab.page
    found = list(found_by_axe(page))
    page.evaluate(_THEME, "dark")
    found += [f"dark: {fault}" for fault in found_by_axe(page, *COLOURS)]
    page.set_viewport_size(PHONE)
    found += [f"phone: {fault}" for fault in found_by_axe(page, *SHAPES)]
    found += _too_wide(page)
    page.set_viewport_size(DESK)
    return [*found, *tab.complaints]


def _too_wide(page):
    """Charts are drawn anew a moment after the screen has another width."""
    try:
        page.wait_for_function(FITS)
    except TooLate:
        return [f"phone: {one}" for one in page.evaluate(_WIDE)]
    return []


def open_page(tab, address, status=200):
    tab.complaints.clear()
    answer = tab.page.goto(address)
    assert answer.status == status
    if tab.page.locator("[data-deck]").count():
        tab.page.wait_for_selector("[data-drawn]")
    if status != 200:
        tab.complaints.clear()  # the browser's own line about the status


@pytest.mark.parametrize("name", pages.ADDRESSES)
def test_axe_finds_no_fault_on(name, tab, shown):
    open_page(tab, pages.ADDRESSES[name].format(**shown), pages.NOT_FOUND.get(name, 200))
    found = faults(tab)
    for reach, part in pages.STATES.get(name, ()):
        found += [f"{part}: {fault}" for fault in in_state(tab.page, reach, part)]
    assert found == []


@pytest.mark.parametrize("template", pages.PLAIN)
def test_axe_finds_no_fault_on_the_plain_page(template, tab):
    html = render_to_string(template, pages.PLAIN[template])
    tab.page.route("**/plain", lambda route: route.fulfill(body=html, content_type="text/html"))
    open_page(tab, "/plain")
    tab.page.unroute("**/plain")
    assert faults(tab) == []
