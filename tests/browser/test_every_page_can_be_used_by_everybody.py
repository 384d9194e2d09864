"""axe-core (WCAG 2.2 AA) on every page that `make screenshots` shows, in both themes."""

from pathlib import Path

import pytest

from tests.browser.conftest import Page
from workers.demo.pictures import PAGES

AXE = Path(__file__).parents[1] / "vendor" / "axe-core-4.14.1" / "axe.min.js"
RULES = [
    "wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice",
]  # fmt: skip
COLOURS = ["color-contrast", "link-in-text-block"]
"""What another theme can change."""
_FAULTS = """async ([type, values]) => {
  const { violations } = await axe.run(document, {
    runOnly: { type, values }, resultTypes: ["violations"], preload: false,
  });
  return violations.flatMap(({ id, impact, nodes }) => nodes.map(
    ({ target, any, all, none }) => `${id} (${impact}) at ${target}: `
      + [...any, ...all, ...none].map((one) => one.message).join("; ")));
}"""
_THEME = """(theme) => {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new CustomEvent("lg:theme"));
}"""


@pytest.fixture(scope="module")
def shown(site, exploded):
    """What stands for the placeholders of the addresses."""
    run = site.get("runs/lrbump")
    return {
        "run": "lrbump",
        "project": run["project"] or "-",
        "host": site.get("nodes")["items"][0]["name"],
        "incident": f"/incidents/{exploded['id']}/",
    }


@pytest.fixture(scope="module")
def tab(chromium, site, session):
    """One tab for all pages."""
    context = chromium.new_context(
        base_url=site.url, storage_state=session, color_scheme="light", reduced_motion="reduce"
    )
    yield Page(context)
    context.close()


def faults(page, kind, values):
    """What axe-core finds on the page that is shown."""
    return page.evaluate(_FAULTS, [kind, values])


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_fault_on(name, tab, shown):
    page = tab.page
    tab.complaints.clear()
    answer = page.goto(PAGES[name].format(**shown))
    assert answer.status == 200
    if page.locator("[data-deck]").count():
        page.wait_for_selector("[data-drawn]")
    page.evaluate(AXE.read_text())
    found = faults(page, "tag", RULES)
    page.evaluate(_THEME, "dark")
    found += [f"dark: {fault}" for fault in faults(page, "rule", COLOURS)]
    assert [*found, *tab.complaints] == []
