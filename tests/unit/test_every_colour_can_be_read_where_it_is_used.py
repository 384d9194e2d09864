"""static/css/tokens.css: WCAG contrast of text and controls, computed from the table itself."""

import re
from itertools import product
from pathlib import Path

import pytest

CSS = (Path(__file__).parents[2] / "static" / "css" / "tokens.css").read_text(encoding="utf-8")
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
USUAL, _, STRONGER = CSS.partition("@media (prefers-contrast: more)")


def pairs(css):
    return {name: {"light": light, "dark": dark} for name, light, dark in PAIR.findall(css)}


COLOURS = pairs(USUAL)
MORE = COLOURS | pairs(STRONGER)
HUES = ("blue", "vermillion", "green", "purple", "amber", "critical")
CARDS = {
    "critical-card": ("critical",),
    "warn-card": ("amber",),
    "ok-card": ("green",),
    "info-card": ("blue",),
}
"""A card that carries a tone -> the hues that are text on it."""
THEMES = ("light", "dark")


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other, theme, colours=COLOURS):
    """WCAG 2.2 contrast ratio of two tokens, 1 to 21."""
    high, low = sorted((luminance(colours[name][theme]) for name in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_that_of_the_standard():
    COLOURS["black"] = {"light": "#000000", "dark": "#777777"}
    assert contrast("black", "bg", "light") == pytest.approx(21.0)


@pytest.mark.parametrize(
    ("theme", "ink", "surface"), [*product(THEMES, ("text", "grey"), ("bg", "panel", *CARDS))]
)
def test_text_is_read_on_every_surface(theme, ink, surface):
    assert contrast(ink, surface, theme) >= 4.5


@pytest.mark.parametrize(("theme", "hue", "surface"), [*product(THEMES, HUES, ("bg", "panel"))])
def test_a_hue_is_read_as_text_on_page_and_panel(theme, hue, surface):
    assert contrast(hue, surface, theme) >= 4.5


@pytest.mark.parametrize(
    ("theme", "card", "hue"),
    [(theme, card, hue) for theme in THEMES for card, hues in CARDS.items() for hue in hues],
)
def test_a_hue_is_read_on_the_card_of_its_tone(theme, card, hue):
    assert contrast(hue, card, theme) >= 4.5


@pytest.mark.parametrize(("theme", "hue"), [*product(THEMES, HUES)])
def test_words_are_read_on_a_button_or_badge_of_a_hue(theme, hue):
    assert contrast("on-accent", hue, theme) >= 4.5


@pytest.mark.parametrize(("theme", "surface"), [*product(THEMES, ("bg", "panel"))])
def test_the_edge_of_a_control_is_seen(theme, surface):
    assert contrast("control", surface, theme) >= 3


@pytest.mark.parametrize(("theme", "ink"), [*product(THEMES, ("text", "grey", *HUES))])
def test_who_asks_for_more_contrast_gets_it(theme, ink):
    surfaces = ("bg", "panel", *(CARDS if ink in ("text", "grey") else ()))
    surfaces += tuple(card for card, hues in CARDS.items() if ink in hues)
    assert min(contrast(ink, surface, theme, MORE) for surface in surfaces) >= 7
    assert ink in ("text", "grey") or contrast("on-accent", ink, theme, MORE) >= 7


@pytest.mark.parametrize(("theme", "edge"), [*product(THEMES, ("border", "control"))])
def test_and_edges_that_are_seen(theme, edge):
    assert min(contrast(edge, surface, theme, MORE) for surface in ("bg", "panel", *CARDS)) >= 4.5


def test_no_file_but_the_tokens_names_a_colour_of_text():
    """A colour beside the table would not be looked at here."""
    named = re.compile(r"(?<![-\w])color:\s*(#|rgb|hsl)")
    others = [
        path
        for path in Path(__file__).parents[2].glob("static/css/*.css")
        if path.name != "tokens.css"
    ]
    assert others
    assert [path.name for path in others if named.search(path.read_text(encoding="utf-8"))] == []
