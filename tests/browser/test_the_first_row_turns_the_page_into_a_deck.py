"""/connect/ in a browser: a token is made, a row is sent with it, and the page becomes the deck."""

import httpx


def test_from_a_token_to_the_deck(visit, site):
    page = visit().page
    page.goto("/connect/")
    page.get_by_role("button", name="Make a token").click()
    token = page.locator("#cmd-token").inner_text()
    page.get_by_text("Waiting for the first row").wait_for()
    answer = httpx.post(
        f"{site.url}/api/v1/runs/first-run/metrics",
        json={"rows": [{"step": 1, "values": {"train/loss": 2.5}}]},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 202
    page.wait_for_url("**/runs/first-run/", timeout=20_000)
    assert page.locator("h1").inner_text() == "first-run"
