"""One walk on an empty site: sign in, connect, first row, live data, explosion, incident, rollback,
recovered. The data comes in by the doors of a training, and every page follows by itself."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import found_by_axe
from tests.browser.conftest import LIVE, PASSWORD, PHONE, fits
from tests.browser.training import BREAKS_AT, Training

RUN = "first-run"
BACK = 200
"""The newest checkpoint far enough before the break."""


@pytest.fixture
def training(site):
    """training(token) gives the job of the user who has that token."""
    made = []

    def connect(token):
        made.append(Training(site.url, token, RUN))
        return made[-1]

    yield connect
    for one in made:
        one.close()


def sign_in(page):
    page.goto("/")
    page.fill("#id_username", "ada")
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")


def token_of(page):
    """What the empty site says how to connect, with a token made on it."""
    expect(page.get_by_role("heading", name="No run has sent anything yet")).to_be_visible()
    assert found_by_axe(page) == []
    page.get_by_role("button", name="Make a token").click()
    token = page.locator("#cmd-token").inner_text()
    page.wait_for_load_state()
    commands = page.locator(".way pre").all_inner_texts()
    assert all(token in command for command in commands)
    assert f"export WANDB_API_KEY={token}" in commands[0]
    expect(page.get_by_text("Waiting for the first row")).to_be_visible()
    assert found_by_axe(page) == []
    page.wait_for_selector(LIVE)
    return token


def acknowledge_on_a_phone(visit, address):
    """Who is on call opens the link of the mail; the incident and its actions come first."""
    page = visit(**PHONE).page
    page.goto(address)
    expect(page.locator("h1")).to_contain_text("Loss")
    button = page.get_by_role("button", name="Acknowledge")
    assert button.bounding_box()["y"] < PHONE["viewport"]["height"]
    button.tap()
    expect(page.locator("#story-head")).to_contain_text("acknowledged by ada")
    assert fits(page)
    page.goto(f"/runs/{RUN}/")
    expect(page.locator("[data-incident]")).to_contain_text("acknowledged by ada")
    assert fits(page)


def order(page):
    """Through the drawer to the page of the order."""
    page.get_by_role("link", name="Rollback…", exact=True).click()
    best = page.locator(".choice", has_text="best")
    expect(best).to_contain_text(f"step {BACK}")
    button = page.get_by_role("button", name=f"Roll back attempt 0 to step {BACK}")
    expect(button).to_be_disabled()
    page.fill("#reason", "the data of that hour was garbage")
    page.fill("#confirm", str(BACK))
    button.click()
    expect(page.locator("[data-order-state=requested]")).to_be_visible()
    page.wait_for_selector(LIVE)
    return int(page.url.rstrip("/").rsplit("/", 1)[1])


def test_the_walk(visit, training):
    page = visit(storage_state=None).page
    sign_in(page)
    job = training(token_of(page))

    job.start("job-1")
    job.log(0, 60)
    page.wait_for_url(f"**/runs/{RUN}/")
    page.wait_for_selector("[data-drawn]")
    page.wait_for_selector(LIVE)
    expect(page.locator("h1")).to_have_text(RUN)
    expect(page.locator("[data-incident]")).to_have_count(0)

    job.log(60, 310)
    job.save(50, 100, 150, 200, 250, 300)
    expect(page.locator("[data-tile=step]")).to_have_text("309")
    expect(page.locator("[data-incident]")).to_have_count(0)

    job.log(310, 350)
    card = page.locator("[data-incident]")
    expect(card).to_contain_text(f"at step {BREAKS_AT}")
    expect(page.locator("#incident-count")).to_contain_text("1")

    card.get_by_role("link", name="Open incident").click()
    expect(page.locator("#story-head")).to_contain_text("no owner")
    page.wait_for_selector(LIVE)
    expect(page.locator(".marks .onset")).to_have_count(1)
    acknowledge_on_a_phone(visit, page.url)
    expect(page.locator("#story-head")).to_contain_text("acknowledged by ada")

    number = order(page)
    job.take(number, "job-2")
    expect(page.locator("[data-order-state=acknowledged]")).to_contain_text("job-2")
    job.start("job-2", BACK)
    job.log(BACK, BACK + 40)
    expect(page.locator("[data-order-state=resumed]")).to_contain_text("Attempt 1 runs")
    job.log(BACK + 40, BREAKS_AT + 80)
    expect(page.locator("[data-order-state=recovered]")).to_be_visible()

    page.get_by_role("link", name="Flight deck").click()
    expect(page.locator("[data-outcome=recovered]")).to_contain_text(f"to step {BACK}")
    expect(page.locator("[data-incident]")).to_have_count(0)
    expect(page.locator("svg.lanes g[aria-label='Attempts']")).to_contain_text("1")
    page.goto("/audit/")
    expect(page.locator("main")).to_contain_text("the data of that hour was garbage")
    expect(page.locator("main")).to_contain_text("token.created")
