from functools import partial
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LIVE, PASSWORD
from tests.stack import until

KEY = "live-run"
STEP = "Number(document.querySelector('[data-tile=step]').textContent.replaceAll(',', ''))"
DRAWN = "document.querySelector('[data-deck]').deck.data.step"


@pytest.fixture
def post(site):
    return partial(site.send_losses, KEY)


@pytest.fixture
def page(visit, site, post):
    post(0, 50)
    until(lambda: site.drained(KEY), "the first rows")
    page = visit().open_deck(f"/runs/{KEY}/")
    page.wait_for_selector(".live[data-state=live]")
    return page


def test_chart_and_tile_follow_the_run_over_the_event_stream(page, post):
    post(50, 90)
    page.wait_for_function(f"() => {STEP} >= 89")
    page.wait_for_function(f"() => {DRAWN} >= 89")


def test_what_was_stored_before_the_page_could_hear_of_it_is_shown(visit, site, post, page):
    waiting, late = [], visit().page
    late.route(lambda url: "/events" in url, lambda route: waiting.append(route))
    late.goto(f"/runs/{KEY}/")
    late.wait_for_selector("[data-drawn]")
    post(90, 100)
    page.wait_for_function(f"() => {STEP} >= 99")
    waiting[0].continue_()
    late.wait_for_function(f"() => {STEP} >= 99")
    late.wait_for_function(f"() => {DRAWN} >= 99")


def test_pause_holds_the_page_still_and_resume_catches_up(page, post):
    page.keyboard.press("p")
    page.wait_for_selector(".live[data-state=paused]")
    post(100, 140)
    page.keyboard.press("p")
    page.wait_for_function(f"() => {STEP} >= 139")
    page.wait_for_selector(".live[data-state=live]")


def test_one_tab_holds_one_connection(page):
    page.evaluate("document.body.dispatchEvent(new CustomEvent('live-slow'))")
    opened = page.evaluate(
        "performance.getEntriesByType('resource').filter((r) => r.name.includes('/events')).length"
    )
    assert opened <= 1


def test_a_refresh_never_takes_a_link_from_under_the_pointer(page, post):
    link = page.locator(".tiles a").element_handle()
    link.focus()
    post(150, 170)
    page.wait_for_function(f"() => {STEP} >= 169")
    assert link.evaluate("(node) => node.isConnected && document.activeElement === node")


def test_a_page_that_was_signed_out_elsewhere_says_so_and_asks_no_more(visit, page):
    visited = visit(storage_state=None)
    page, other = visited.page, visited.context.new_page()
    page.goto(f"/login/?next=/runs/{KEY}/")
    page.fill("#id_username", "ada")
    page.fill("#id_password", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_selector(LIVE)
    page.wait_for_selector("[data-drawn]")
    other.goto("/audit/")
    other.evaluate("document.querySelector('form[action=\"/logout/\"]').requestSubmit()")
    page.wait_for_selector(".live[data-state='signed out']")
    expect(page.locator("[data-age]")).to_contain_text("signed out")
    page.evaluate("document.querySelector('[data-deck]').deck.load()")
    expect(page.locator("[data-note]")).to_have_text("you are signed out: reload the page")
    asked = next(c for c in visited.context.cookies() if c["name"] == "lastgood_asked")
    assert "deck.json" not in asked["value"]
    assert page.locator("#id_password").count() == 0
    visited.complaints[:] = [said for said in visited.complaints if "401" not in said]


def test_a_page_asks_while_it_cannot_hear_and_hears_again_by_itself(visit, site, post):
    post(0, 50)
    until(lambda: site.drained(KEY), "the first rows")
    visited = visit()
    page = visited.open_deck(f"/runs/{KEY}/")
    page.wait_for_selector(".live[data-state=live]")
    site.kill("events")
    try:
        page.wait_for_selector(".live[data-state=polling]")
        post(200, 220)
        page.wait_for_function(f"() => {DRAWN} >= 219")
    finally:
        site.start_events(urlsplit(site.env["EVENTS_URL"]).port)
    page.wait_for_selector(".live[data-state=live]")
    post(220, 230)
    page.wait_for_function(f"() => {DRAWN} >= 229")
    visited.complaints[:] = [said for said in visited.complaints if "net::ERR_" not in said]
