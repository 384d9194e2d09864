import httpx


def test_an_acknowledgement_elsewhere_shows_and_the_charts_stay(visit, site, exploded):
    page = visit().open_deck(f"/incidents/{exploded['id']}/")
    page.wait_for_selector(".live[data-state=live]")
    chart = page.locator("[data-chart=loss] .plot").element_handle()
    assert page.locator("#story-head", has_text="no owner").is_visible()
    httpx.post(
        f"{site.url}/api/v1/incidents/{exploded['id']}/acknowledge",
        json={"reason": "looking"},
        headers={"Authorization": f"Bearer {site.token}"},
    ).raise_for_status()
    page.wait_for_selector("#story-head:has-text('acknowledged by test')")
    page.wait_for_selector("#story-body:has-text('acknowledged: looking')")
    assert chart.evaluate("(node) => node.isConnected && node._fullLayout !== undefined")
    assert page.locator("#story-head").count() == 1
