from playwright.sync_api import expect

from tests.browser.conftest import PHONE, fits

PLAIN = {"java_script_enabled": False}
TOP = "(selector) => document.querySelector(selector).getBoundingClientRect().top"


def test_on_a_phone_the_decision_comes_before_the_charts(visit, exploded):
    page = visit(**PHONE).open_deck("/runs/lrbump/")
    order = [
        "[data-incident]", "[data-incident] .actions", "#cand", "#susp", "[data-chart=loss]",
        "svg.lanes", "[data-chart=grad]", ".tiles", "#ranks",
    ]  # fmt: skip
    tops = [page.evaluate(TOP, selector) for selector in order]
    assert tops == sorted(tops)


def test_a_rollback_is_reviewed_with_a_thumb(visit, site, exploded):
    page = visit(**PHONE).page
    page.goto("/runs/lrbump/")
    page.locator("[data-incident]").get_by_role("link", name="Rollback…").tap()
    page.locator("label[for=c-0-600]").tap()
    page.wait_for_selector("[data-expected='600']")
    expect(page.locator("#preview")).to_contain_text("step 600")
    button = page.get_by_role("button", name="Roll back attempt 0 to step 600")
    button.scroll_into_view_if_needed()
    place = button.bounding_box()
    assert place["height"] >= 38 and place["x"] >= 0 and place["x"] + place["width"] <= 360
    assert fits(page)
    assert site.get("runs/lrbump/orders")["items"] == []


def test_a_phone_may_put_it_on_its_screen(visit, exploded):
    page = visit(**PHONE).page
    page.goto("/")
    chrome = page.context.new_cdp_session(page)
    manifest = chrome.send("Page.getAppManifest")
    assert manifest["url"].endswith("/static/manifest.webmanifest")
    assert manifest["errors"] == []
    # Windows of tests are private ones, which is the only thing in the way.
    hindrances = chrome.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert {one["errorId"] for one in hindrances} <= {"in-incognito"}


def test_without_javascript_a_person_gets_from_the_list_to_the_order_form(visit, exploded):
    page = visit(**PLAIN).page
    page.goto("/")
    page.get_by_role("link", name="Open incident").first.click()
    expect(page.locator("h1")).to_contain_text("Loss")
    page.get_by_role("link", name="Rollback…", exact=True).click()
    page.locator("#c-0-600").check()
    page.get_by_role("button", name="Show the effects").click()
    expect(page.get_by_role("button", name="Roll back attempt 0 to step 600")).to_be_visible()


def test_without_javascript_the_values_are_there_as_tables(visit, exploded):
    page = visit(**PLAIN).page
    page.goto("/runs/lrbump/")
    with page.expect_navigation():
        page.locator("noscript a", has_text="loss").click()
    assert page.locator("tbody tr").count() > 100
