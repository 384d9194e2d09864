import re

import httpx
from playwright.sync_api import expect

from tests.browser.conftest import LIVE, PASSWORD


def test_an_acknowledgement_elsewhere_shows_and_the_charts_stay(visit, site, exploded):
    page = visit().open_deck(f"/incidents/{exploded['id']}/")
    page.wait_for_selector(".live[data-state=live]")
    chart = page.locator("[data-chart=loss] .plot").element_handle()
    assert page.locator("#story-head", has_text="no owner").is_visible()
    httpx.post(
        f"{site.url}/api/v1/incidents/{exploded['id']}/acknowledge",
        json={"reason": "looking"},
        headers={"Authorization": f"Bearer {site.token}"},
        timeout=60,
    ).raise_for_status()
    page.wait_for_selector("#story-head:has-text('acknowledged by test')")
    page.wait_for_selector("#story-body:has-text('acknowledged: looking')")
    assert chart.evaluate("(node) => node.isConnected && node._fullLayout !== undefined")
    assert page.locator("#story-head").count() == 1


def test_forms_open_by_key_and_by_the_link_of_a_message(visit, exploded):
    page = visit().open_deck(f"/incidents/{exploded['id']}/")
    page.keyboard.press("n")
    page.keyboard.type("looked at it")
    page.locator("button", has_text="Add the note").click()
    page.wait_for_selector("#story-body:has-text('looked at it')")
    page.goto(f"/incidents/{exploded['id']}/#silence-why")
    page.wait_for_selector("#silence-why:focus")
    page.keyboard.type("known")
    page.locator("button", has_text="Silence 1 h").click()
    page.wait_for_selector("#story-head:has-text('known')")
    page.locator("button", has_text="End the silence").click()
    page.wait_for_selector("#story-head:not(:has-text('Silenced'))")


def test_the_link_of_a_mail_leads_through_the_sign_in_page_to_its_form(visit, exploded):
    page = visit(storage_state=None).page
    page.goto(f"/incidents/{exploded['id']}/#silence-why")
    page.fill("#id_username", "ada")
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/incidents/{exploded['id']}/(\?.*)?#silence-why$"))
    page.wait_for_selector("#silence-why:focus")


def test_ticks_stay_while_a_list_comes_anew(visit, exploded):
    """At once, and not when it has settled: several parts of a page come anew together."""
    page = visit().page
    page.goto("/incidents/")
    page.wait_for_selector(LIVE)
    box = page.locator(f"input[name=chosen][value='{exploded['id']}']")
    box.check()
    ticked = page.evaluate("""() => new Promise((done) => {
      document.body.addEventListener("htmx:afterSwap", ({ target }) => {
        if (target.id === "incident-list") {
          const box = document.querySelector("input[name=chosen]:checked");
          setTimeout(() => done([target.isConnected, box !== null]));
        }
      });
      document.body.dispatchEvent(new CustomEvent("live-slow"));
    })""")
    assert ticked == [True, True]
    assert box.is_checked()
    assert page.locator("[data-chosen]").inner_text().startswith("1 of ")
