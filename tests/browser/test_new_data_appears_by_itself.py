import httpx
import pytest

KEY = "live-run"
STEP = "Number(document.querySelector('[data-tile=step]').textContent.replaceAll(',', ''))"
DRAWN = "document.querySelector('[data-deck]').deck.data.step"


@pytest.fixture
def post(site):
    def send(first, last):
        rows = [{"step": s, "values": {"train/loss": 2 - s / 1000}} for s in range(first, last)]
        httpx.post(
            f"{site.url}/api/v1/runs/{KEY}/metrics",
            json={"source": "http", "rows": rows},
            headers={"Authorization": f"Bearer {site.token}"},
        ).raise_for_status()

    return send


@pytest.fixture
def page(visit, site, post):
    from tests.stack import until

    post(0, 50)
    until(lambda: site.drained(KEY), "the first rows")
    page = visit().open_deck(f"/runs/{KEY}/")
    page.wait_for_selector(".live[data-state=live]")
    return page


def test_chart_and_tile_follow_the_run_over_the_event_stream(page, post):
    post(50, 90)
    page.wait_for_function(f"() => {STEP} >= 89")
    page.wait_for_function(f"() => {DRAWN} >= 89")


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
