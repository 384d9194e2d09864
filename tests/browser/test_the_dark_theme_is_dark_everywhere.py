"""Each main page as somebody sees it whose system is dark: no light surface, charts included.

The legend of the logs shows the worst level in white, on purpose.
"""

import pytest

BACKGROUND, INK = "rgb(13, 17, 23)", "rgb(139, 148, 158)"
LIGHT = """() => {
  const surfaces = new Set([[255, 255, 255], [246, 248, 250], [253, 236, 234], [255, 248, 225],
    [232, 245, 240], [234, 244, 251]].map((rgb) => `rgb(${rgb.join(", ")})`));
  const light = (node) => surfaces.has(getComputedStyle(node).backgroundColor);
  return [...document.querySelectorAll("body *")]
    .filter((node) => node.checkVisibility() && light(node) && !node.matches(".swatch"))
    .map((node) => node.outerHTML.slice(0, 100));
}"""
OF = "(selector) => getComputedStyle(document.querySelector(selector))"


@pytest.fixture
def page(visit, exploded):
    return visit(color_scheme="dark").page


def light_surfaces(page, path):
    """What is light of a page; its background is dark."""
    page.goto(path)
    assert page.evaluate(f"({OF})('html').backgroundColor") == BACKGROUND
    return page.evaluate(LIGHT)


def test_no_surface_is_light(page, exploded):
    run = "/runs/lrbump/"
    paths = ["/", f"/incidents/{exploded['id']}/", run, f"{run}rollback/", f"{run}logs/",
             f"{run}layers/", f"{run}checkpoints/", "/connect/"]  # fmt: skip
    assert {path: found for path in paths if (found := light_surfaces(page, path))} == {}


def test_charts_are_drawn_for_it_and_drawn_again_when_it_is_left(page):
    page.goto("/runs/lrbump/")
    page.wait_for_selector("[data-drawn]")
    ink = f"() => ({OF})('[data-chart=loss] .ytick text').fill"
    assert page.evaluate(ink) == INK
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"() => ({ink})() !== '{INK}'")
