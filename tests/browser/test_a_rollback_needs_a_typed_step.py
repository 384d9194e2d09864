import pytest


@pytest.fixture
def drawer(visit, exploded):
    page = visit().page
    page.goto("/runs/lrbump/")
    page.get_by_role("link", name="Rollback…", exact=True).click()
    page.wait_for_selector("[data-drawer]")
    return page


def test_the_button_wakes_up_when_step_and_note_are_there(drawer):
    order = drawer.locator("[data-order]")
    assert order.is_disabled()
    drawer.fill("#confirm", "750")
    assert order.is_disabled()
    drawer.fill("#reason", "learning rate fixed")
    assert order.is_enabled()
    drawer.fill("#confirm", "75")
    assert order.is_disabled()


def test_another_checkpoint_shows_its_own_order(drawer):
    drawer.locator("#c-0-600").check()
    drawer.wait_for_selector("[data-expected='600']")
    assert drawer.locator("[data-order]").inner_text() == "Roll back attempt 0 to step 600"
    assert '"CKPT_RESUME_STEP": "600"' in drawer.locator("pre.order").text_content()
