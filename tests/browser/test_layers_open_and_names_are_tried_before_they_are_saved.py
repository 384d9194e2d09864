"""The heatmap's choices, and the page of metric names."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, fits

NAMES = "/projects/{project}/names/?run=lrbump"
MAP = "document.querySelector('[data-deck]').deck.data.heatmap"


@pytest.fixture
def names(site, exploded):
    project = site.get("runs/lrbump")["project"] or "-"
    return NAMES.format(project=project)


def test_another_statistic_and_a_layer_are_chosen_by_keyboard(visit, exploded):
    page = visit().open_deck("/runs/lrbump/")
    page.wait_for_selector("[data-heatmap]:not([hidden])")
    statistic = page.get_by_label("Statistic of the layers")
    assert statistic.input_value() == "grad_norm"
    statistic.select_option("update_ratio")
    page.wait_for_url("**statistic=update_ratio**")
    page.wait_for_selector(
        "canvas[aria-label^='Robust standard deviations of update ratio, layers']"
    )
    assert page.evaluate(f"{MAP}.layers.length") == 14
    page.reload()
    page.wait_for_selector("[data-heatmap]:not([hidden])")
    assert page.get_by_label("Statistic of the layers").input_value() == "update_ratio"


def test_layers_are_followed_down_to_five_lines_and_to_their_table(visit, exploded):
    page = visit().open_deck("/runs/lrbump/")
    picker = page.get_by_label("Draw a row as a line")
    for layer in range(6):
        picker.select_option(f"layer {layer}")
    expect(page.locator("[data-lines] .chip")).to_have_count(5)
    chart = page.locator("[data-chart=layers]")
    chart.scroll_into_view_if_needed()
    expect(chart.locator(".scatterlayer .trace")).to_have_count(5)
    page.wait_for_url(lambda address: "layer+0" not in address and "layer+5" in address)
    page.locator("[data-layers-table]").click()
    page.wait_for_url("**/layers/?statistic=grad_norm**")
    expect(page.locator("tbody tr")).to_have_count(14)


def test_the_earliest_signal_is_said_in_words(visit, exploded):
    page = visit().page
    page.goto(f"/incidents/{exploded['id']}/")
    assert page.get_by_text("update ratio", exact=False).count() > 0


def test_a_rule_shows_its_effect_while_it_is_typed(visit, names):
    page = visit().page
    page.goto(names)
    page.get_by_label("Pattern of rule 1").fill("perf/{module}")
    page.get_by_label("Statistic of rule 1").select_option("act_max")
    page.wait_for_selector("#effect code:text-is('perf/step_time')")
    page.get_by_label("Pattern of rule 1").fill("perf/{module")
    page.wait_for_selector("#effect .banner.warn")


@pytest.mark.parametrize("javascript", [True, False])
def test_a_name_is_corrected_and_corrected_back(visit, names, javascript):
    page = visit(java_script_enabled=javascript).page
    page.goto(names)
    field = page.get_by_label("Evaluation loss", exact=True)
    field.fill("train/lr")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages[role=status]")).to_contain_text("The names are saved.")
    assert field.input_value() == "train/lr"
    field.fill("")
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages[role=status]")).to_contain_text("The names are saved.")
    assert field.input_value() == ""


def test_the_layers_are_there_without_javascript(visit, exploded):
    page = visit(java_script_enabled=False).page
    page.goto("/runs/lrbump/layers/?statistic=update_ratio")
    assert page.locator("tbody tr").count() == 14


@pytest.mark.parametrize("path", ["names", "/runs/lrbump/layers/"])
def test_nothing_is_wider_than_a_phone(visit, names, path):
    page = visit(**PHONE).page
    page.goto(names if path == "names" else path)
    assert fits(page)
