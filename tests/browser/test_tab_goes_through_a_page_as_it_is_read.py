"""Focus goes down the page without a trap, is seen, and finds targets that a finger can hit."""

import pytest

MOST = 400
_STOP = """() => {
  const node = document.activeElement;
  if (node === document.body) return null;
  globalThis.stops ??= new Map();
  if (stops.has(node)) return null;
  const before = [...stops.keys()].at(-1);
  stops.set(node, true);
  const { top, bottom, width, height } = node.getBoundingClientRect();
  const style = getComputedStyle(node);
  const card = (one) => one?.closest(".card, .row, .banner, .actions, nav, header, fieldset");
  return {
    name: `${node.localName} ${node.ariaLabel ?? node.textContent.trim().slice(0, 40) ?? node.name}`,
    seen: width > 0 && height > 0 && (parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== "none"),
    size: [width, height], inline: style.display === "inline",
    follows: !before || Boolean(before.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING),
    goes_up: Boolean(before) && card(before) === card(node) && bottom <= before.getBoundingClientRect().top,
  };
}"""


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
    assert [stop["name"] for stop in stops if not stop["follows"] or stop["goes_up"]] == []
    assert [stop["name"] for stop in stops if not stop["seen"]] == []


def test_the_skip_link_leads_past_the_rail(visit, exploded):
    page = visit().page
    page.goto("/runs/lrbump/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
