import pytest


@pytest.fixture
def page(visit, exploded):
    page = visit().page
    page.goto("/")
    return page


@pytest.mark.parametrize(
    ("keys", "place"), [("gi", "/incidents/"), ("gl", "/logs/"), ("gu", "/audit/")]
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
    page.keyboard.type("gi")
    assert page.url.endswith("/")
