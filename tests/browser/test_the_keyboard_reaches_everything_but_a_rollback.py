import re

import pytest
from playwright.sync_api import expect


@pytest.fixture
def page(visit, exploded):
    page = visit().page
    page.goto("/")
    return page


@pytest.mark.parametrize(
    ("keys", "place"), [("gi", "/incidents/"), ("gl", "/logs/"), ("gt", "/settings/")]
)
def test_g_goes_places(page, keys, place):
    page.keyboard.type(keys)
    page.wait_for_url(f"**{place}")


def test_j_and_k_walk_through_the_items(page):
    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.href")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.href") != first
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.href") == first


def test_d_changes_the_theme_and_it_is_remembered(page):
    page.keyboard.press("d")
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).colorScheme") in ("dark", "normal")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_t_changes_the_zone_everywhere(page):
    page.keyboard.press("t")
    assert "local" in page.locator("time[data-as=clock]").first.inner_text()


def test_question_mark_shows_help_and_keys_can_be_switched_off(page):
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.locator("[data-keys-off]").click()
    page.keyboard.press("Escape")
    page.keyboard.type("gi?")
    assert page.url.endswith("/")
    assert page.locator("#keys").is_hidden()
    page.goto("/help/")
    page.get_by_role("button", name="Turn single keys on").click()
    page.keyboard.type("gi")
    page.wait_for_url("**/incidents/")


def test_keys_of_a_run_open_what_they_name(page):
    page.goto("/runs/lrbump/")
    page.wait_for_selector("[data-drawn]")
    page.keyboard.press("]")
    page.wait_for_selector("[data-said]:has-text('step')", state="attached")
    page.keyboard.press(".")
    page.wait_for_selector("[data-series]:visible")
    page.keyboard.press("Escape")
    page.wait_for_selector("[data-series]:visible", state="detached")
    page.keyboard.press("l")
    page.wait_for_url("**log=**")


def test_the_palette_finds_a_run_and_goes_there(page):
    page.keyboard.press("Control+k")
    page.locator(".palette [role=option]").first.wait_for()
    page.keyboard.type("lrb")
    expect(page.locator(".palette [role=option]", has_text="INC-")).to_have_count(0)
    expect(page.locator("[role=option][aria-selected=true]")).to_have_text(re.compile("^lrbump"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/lrbump/")


def test_nothing_that_the_palette_offers_changes_what_others_see(page):
    page.keyboard.press("/")
    page.locator(".palette [role=option]").first.wait_for()
    kinds = page.locator(".palette [role=group]")
    assert "Actions" in kinds.evaluate_all("all => all.map(one => one.ariaLabel)")
    urls = page.locator("[role=option]").evaluate_all("all => all.map(one => one.dataset.url)")
    assert [url for url in urls if "rollback" in url] == []


def tab_to(page, target, key="Tab"):
    """Presses a key until the element has the focus."""
    for _ in range(200):
        page.keyboard.press(key)
        if target.evaluate("(node) => node === document.activeElement"):
            return
    raise AssertionError(f"no {key} leads to {target}")


def enter(page, link):
    tab_to(page, link)
    page.keyboard.press("Enter")


def test_a_rollback_is_reviewed_without_a_mouse_and_left_again(page, site, exploded):
    page.keyboard.type("gi")
    page.wait_for_url("**/incidents/")
    tab_to(page, page.locator(f"a[data-item][href='/incidents/{exploded['id']}/']"), "j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/incidents/*/")
    enter(page, page.get_by_role("link", name="Rollback…", exact=True))
    page.wait_for_selector("[data-drawer]")

    tab_to(page, page.locator("[name=choice]:checked"))
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("[data-expected='600']")
    expect(page.locator("#c-0-600")).to_be_focused()
    tab_to(page, page.locator("#reason"))
    page.keyboard.type("only looking")
    tab_to(page, page.locator("#skip-from"))
    page.keyboard.type("990")
    with page.expect_navigation():
        enter(page, page.locator("[data-preview]"))
    expect(page.locator("#skip-from")).to_have_value("990")
    expect(page.locator("#reason")).to_have_value("only looking")
    expect(page.locator("#preview")).to_contain_text("step 600")
    with page.expect_navigation():
        enter(page, page.get_by_role("button", name="Dry run"))
    expect(page.locator("#preview")).to_contain_text("step 600")

    enter(page, page.locator("summary", has_text="The exact order"))
    expect(page.locator("pre.order")).to_contain_text('"CKPT_RESUME_STEP": "600"')
    tab_to(page, page.locator("#confirm"))
    page.keyboard.type("600")
    page.keyboard.press("Enter")
    crumb = page.locator(".crumbs a").last
    tab_to(page, crumb, "Shift+Tab")
    page.keyboard.type("abcefhijklmnoqrsuvwxyzRAX0.[]+-")
    tab_to(page, crumb, "Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/incidents/{exploded['id']}/**")
    assert site.get("runs/lrbump/orders")["items"] == []
