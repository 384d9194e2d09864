"""`make demo` as a visitor: explosion, e-mail, incident, rollback button, launcher, recovered."""

import pytest

from tests.mailbox import inline_plots, mails_about, parts_of, post_office
from tests.system.processes import Foreground, eventually

MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def mailbox():
    with post_office() as box:
        yield box


@pytest.fixture(scope="module")
def demo(chromium, mailbox, tmp_path_factory):
    """The demo at twenty times the recorded speed, its mails going to a real SMTP server."""
    running = Foreground(
        tmp_path_factory.mktemp("home"),
        module="workers.demo",
        SPEED="20",
        EMAIL_URL=mailbox.url,
        ALERT_RECIPIENTS="oncall@example.test",
    )
    running.link = running.line("Lastgood is ready", within_s=180).split()[-1]
    yield running
    running.close()


@pytest.fixture(scope="module")
def page(demo, chromium):
    """A visitor who opened the one-time link; the console must stay clean."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    complaints = []
    page = context.new_page()
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(demo.link)
    yield page
    context.close()
    assert complaints == []


def test_from_the_explosion_to_recovered(demo, page, mailbox):
    base = f"http://127.0.0.1:{demo.port}"
    page.goto(f"{base}/runs/lrbump/")
    page.wait_for_selector("[data-incident]", timeout=2 * MINUTE_MS)
    eventually(lambda: mails_about(mailbox, "lrbump"), 30, "the opening mail")

    page.get_by_role("link", name="Open incident").first.click()
    page.wait_for_selector("h1:has-text('Loss')")
    assert "earning rate changed at the same step" in page.inner_text("main")

    page.get_by_role("link", name="Rollback…", exact=True).first.click()
    page.fill("#reason", "learning rate repaired")
    page.fill("#confirm", "900")
    page.get_by_role("button", name="Roll back attempt 0 to step 900").click()
    page.wait_for_selector("[data-order-state=recovered]", timeout=2 * MINUTE_MS)

    page.goto(f"{base}/runs/lrbump/")
    page.wait_for_selector("[data-drawn]")
    assert "Recovered after the rollback to step 900" in page.inner_text("main")
    page.goto(f"{base}/audit/")
    assert "learning rate repaired" in page.inner_text("main")


def test_one_opening_and_one_closing_mail_arrived(mailbox):
    opening, closing = eventually(
        lambda: len(found := mails_about(mailbox, "lrbump")) == 2 and found, 30, "two mails"
    )
    assert parts_of(opening) == {"text/plain", "text/html", "image/png"}
    assert len(inline_plots(opening)) == 1
    assert "900" in opening.get_body(("plain",)).get_content()
    assert closing["Subject"] == f"Re: {opening['Subject']}"
    assert closing.get_body(("plain",)).get_content().startswith("RESOLVED after")
    assert opening["References"] == closing["References"]
