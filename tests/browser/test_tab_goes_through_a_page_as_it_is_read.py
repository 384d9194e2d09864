"""Focus goes down the page without a trap, is seen, under no bar, and comes back from a window."""

from itertools import pairwise

import pytest

from tests.browser.conftest import PHONE

MOST = 400
_STOP = """() => {
  const node = document.activeElement;
  globalThis.stops ??= [];
  if (node === document.body || stops.includes(node)) return null;
  const before = stops.at(-1);
  stops.push(node);
  const { bottom, top } = node.getBoundingClientRect();
  const { left, top: first, width, height } = node.getClientRects()[0];
  const { outlineStyle, outlineWidth } = getComputedStyle(node);
  const hit = document.elementFromPoint(left + Math.min(width / 2, innerWidth - left - 1),
    first + Math.min(height / 2, innerHeight - first - 1));
  const part = (one) => one.closest(".card, .row, .banner, .actions, .pagehead, header, .rail");
  const beside = before && part(before) === part(node);
  return {
    name: `${node.localName} ${node.ariaLabel ?? node.textContent.trim().slice(0, 40)}`,
    seen: width * height > 0 && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
    under: !hit || !node.contains(hit) && !hit.contains(node),
    up: beside && bottom <= before.getBoundingClientRect().top,
    main: node.closest("main") !== null && !node.closest(".tiles"),
    bottom: bottom + scrollY,
    top: top + scrollY,
  };
}"""
"""What has the focus, null once it was there already. under: of a bar, or of anything else. up: it
jumped against the reading, within a part of the page."""


def stops(page, address):
    """All that Tab leads to, until it begins anew."""
    page.goto(address)
    if page.locator("[data-deck]").count():
        page.wait_for_selector("[data-drawn]")
    found = []
    for _ in range(MOST):
        page.keyboard.press("Tab")
        stop = page.evaluate(_STOP)
        if stop is None:
            break
        found.append(stop)
    names = [stop["name"] for stop in found]
    assert 20 < len(found) < MOST, names
    assert names[0] == "a Skip to content"
    assert [stop["name"] for stop in found if not stop["seen"] or stop["under"]] == []
    return found


@pytest.mark.parametrize(
    "path",
    ["/runs/lrbump/", "/incidents/{incident}/", "/runs/lrbump/rollback/", "/runs/lrbump/logs/"],
)
def test_focus_goes_down_the_page(visit, exploded, path):
    found = stops(visit().page, path.format(incident=exploded["id"]))
    assert [stop["name"] for stop in found if stop["up"]] == []


@pytest.mark.parametrize("path", ["/runs/lrbump/", "/incidents/{incident}/", "/incidents/"])
def test_on_a_phone_it_goes_where_the_eye_goes(visit, exploded, path):
    """There is one column; the tiles are below the charts there and hold no decision."""
    found = stops(visit(**PHONE).page, path.format(incident=exploded["id"]))
    inside = [stop for stop in found if stop["main"]]
    jumps = [
        (before["name"], stop["name"])
        for before, stop in pairwise(inside)
        if stop["bottom"] <= before["top"]
    ]
    assert jumps == []


def test_the_skip_link_leads_past_the_rail_and_a_window_gives_the_focus_back(visit, exploded):
    page = visit().open_deck("/runs/lrbump/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    opener = page.locator("[data-chart=loss] [data-table]")
    opener.focus()
    page.keyboard.press("Enter")
    page.locator("dialog[open] table").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.matches('[data-chart=loss] [data-table]')")
