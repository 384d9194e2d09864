"""Focus goes down the page without a trap, is seen, and finds targets that a finger can hit."""

import pytest

MOST = 400
_STOP = """() => {
  const node = document.activeElement;
  globalThis.stops ??= [];
  if (node === document.body || stops.includes(node)) return null;
  const before = stops.at(-1);
  stops.push(node);
  const { bottom, width, height } = node.getBoundingClientRect();
  const { outlineStyle, outlineWidth } = getComputedStyle(node);
  const part = (one) => one.closest(".card, .row, .banner, .actions, .pagehead, header, .rail");
  const beside = before && part(before) === part(node);
  return {
    name: `${node.localName} ${node.ariaLabel ?? node.textContent.trim().slice(0, 40)}`,
    seen: width * height > 0 && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
    up: beside && bottom <= before.getBoundingClientRect().top,
  };
}"""
"""What has the focus, null once it was there already; up: it jumped against the reading."""


@pytest.mark.parametrize(
    "path",
    ["/runs/lrbump/", "/incidents/{incident}/", "/runs/lrbump/rollback/", "/runs/lrbump/logs/"],
)
def test_focus_goes_down_the_page(visit, exploded, path):
    page = visit().page
    page.goto(path.format(incident=exploded["id"]))
    if page.locator("[data-deck]").count():
        page.wait_for_selector("[data-drawn]")
    stops = []
    for _ in range(MOST):
        page.keyboard.press("Tab")
        stop = page.evaluate(_STOP)
        if stop is None:
            break
        stops.append(stop)
    names = [stop["name"] for stop in stops]
    assert 20 < len(stops) < MOST, names
    assert names[0] == "a Skip to content"
    assert [stop["name"] for stop in stops if stop["up"]] == []
    assert [stop["name"] for stop in stops if not stop["seen"]] == []


def test_the_skip_link_leads_past_the_rail(visit, exploded):
    page = visit().page
    page.goto("/runs/lrbump/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
