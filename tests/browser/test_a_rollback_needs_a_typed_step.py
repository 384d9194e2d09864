import pytest
from playwright.sync_api import expect


@pytest.fixture
def drawer(visit, exploded):
    page = visit().page
    page.goto("/runs/lrbump/")
    page.get_by_role("link", name="Rollback…", exact=True).click()
    page.wait_for_selector("[data-drawer]")
    return page


def test_the_button_wakes_up_when_step_and_note_are_there(drawer):
    order = drawer.locator("[data-order]")
    expect(order).to_be_disabled()
    drawer.fill("#confirm", "750")
    assert order.is_disabled()
    drawer.fill("#reason", "learning rate fixed")
    assert order.is_enabled()
    drawer.fill("#confirm", "75")
    assert order.is_disabled()


def test_another_checkpoint_shows_its_own_order(drawer):
    drawer.locator("#c-0-600").check()
    drawer.wait_for_selector("[data-expected='600']")
    expect(drawer.locator("[data-order]")).to_have_text("Roll back attempt 0 to step 600")
    expect(drawer.locator("pre.order")).to_contain_text('"CKPT_RESUME_STEP": "600"')
