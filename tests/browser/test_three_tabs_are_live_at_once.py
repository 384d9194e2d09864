"""Three tabs of one browser, over HTTP/1.1: each has one connection, hears, and can be used."""

import json
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.stack import until

KEY = "three-tabs"
DECK = "document.querySelector('[data-deck]').deck"
STEP = f"() => {DECK}.data.step"
ZOOMED = f"() => {DECK}.had.charts.axis.end === 30"
ESTABLISHED = "01"


@pytest.fixture
def post(site):
    return partial(site.send_losses, KEY)


@pytest.fixture
def tabs(visit, site, post):
    post(0, 50)
    until(lambda: site.drained(KEY), "the first rows")
    first = visit()
    pages = [first.open_deck(f"/runs/{KEY}/")]
    for path in (f"/runs/{KEY}/", "/incidents/"):
        pages.append(first.context.new_page())
        pages[-1].goto(path)
    for page in pages:
        page.wait_for_selector(".live[data-state=live]")
    return pages


def connections(site):
    """How many connections the event process holds."""
    port = f"{urlsplit(site.env['EVENTS_URL']).port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(own.endswith(f":{port}") and state == ESTABLISHED for _, own, _, state, *_ in lines)


def test_each_tab_has_one_connection_and_all_are_live(tabs, site, post):
    until(lambda: connections(site) == 3, "one connection a tab")
    post(50, 90)
    for page in tabs[:2]:
        page.wait_for_function(f"{STEP} >= 89")
    one, other, _ = tabs
    one.evaluate(f"{DECK}.setRange([10, 30])")
    one.wait_for_function(ZOOMED)
    other.goto("/")
    other.wait_for_selector(".live[data-state=live]")
    until(lambda: connections(site) == 3, "the connection of a tab that went on is gone")


def test_what_a_zoomed_tab_has_is_not_sent_to_it_again(tabs, post):
    page = tabs[0]
    page.evaluate(f"{DECK}.setRange([10, 30])")
    page.wait_for_function(ZOOMED)
    with page.expect_response(lambda answer: "part=charts" in answer.url) as told:
        post(90, 95)
    assert json.loads(told.value.text())["charts"] == {"loss": None}


def test_a_tab_says_how_old_its_data_is_and_asks_nothing_while_nobody_looks(tabs, post):
    page = tabs[0]
    said, hatched = page.evaluate(
        """() => {
          const { deck } = document.querySelector('[data-deck]');
          deck.data = { ...deck.data, heard: { ms: Date.now() - 250_000, stale_s: 60 } };
          deck.age.look();
          const there = (part) => deck.root.querySelector(part);
          const hatched = deck.root.matches('[data-stale]') && there('.hatch') !== null;
          return [there('[data-age]').textContent, hatched];
        }"""
    )
    assert (said, hatched) == ("no new data for 4 min", True)
    page.wait_for_function(
        """() => {
          const { deck } = document.querySelector('[data-deck]');
          if (deck.abort || deck.wait) return false;
          Object.defineProperty(document, 'hidden', { value: true, configurable: true });
          window.asked = 0;
          const ask = window.fetch;
          window.fetch = (...words) => { window.asked += 1; return ask(...words); };
          return true;
        }"""
    )
    post(95, 99)
    tabs[1].wait_for_function(f"{STEP} >= 98")
    assert page.evaluate("window.asked") == 0
    page.evaluate(
        """() => {
          Object.defineProperty(document, 'hidden', { value: false, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }"""
    )
    page.wait_for_function(f"{STEP} >= 98")
    page.wait_for_selector("[data-age]", state="hidden")
