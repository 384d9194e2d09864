import pytest

PHONE = {"viewport": {"width": 360, "height": 780}}
PLAIN = {"java_script_enabled": False}
TOP = "(selector) => document.querySelector(selector).getBoundingClientRect().top"


@pytest.mark.parametrize(
    "path",
    ["/", "/incidents/", "/incidents/{id}/", "/runs/lrbump/", "/runs/lrbump/rollback/",
     "/runs/lrbump/logs/", "/runs/lrbump/checkpoints/", "/ingest/", "/audit/", "/connect/",
     "/help/", "/search/"],
)  # fmt: skip
def test_nothing_is_wider_than_a_phone(visit, exploded, path):
    page = visit(**PHONE).page
    page.goto(path.format(id=exploded["id"]))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_the_decision_comes_before_the_charts(visit, exploded):
    page = visit(**PHONE).open_deck("/runs/lrbump/")
    order = ["[data-incident]", "#cand", "#susp", ".tiles", "[data-chart=loss]", "#ranks"]
    tops = [page.evaluate(TOP, selector) for selector in order]
    assert tops == sorted(tops)


def test_without_javascript_a_person_gets_from_the_list_to_the_order_form(visit, exploded):
    page = visit(**PLAIN).page
    page.goto("/")
    page.get_by_role("link", name="Open incident").first.click()
    assert page.locator("h1").inner_text().startswith("Loss")
    page.get_by_role("link", name="Rollback…", exact=True).click()
    page.locator("#c-0-600").check()
    page.get_by_role("button", name="Show the effects").click()
    assert page.get_by_role("button", name="Roll back attempt 0 to step 600").is_visible()


def test_without_javascript_the_values_are_there_as_tables(visit, exploded):
    page = visit(**PLAIN).page
    page.goto("/runs/lrbump/")
    page.locator("noscript a", has_text="loss").click()
    assert page.locator("tbody tr").count() > 100
