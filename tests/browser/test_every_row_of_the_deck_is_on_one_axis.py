import httpx
import pytest

PLACE = """(step) => {
  const deck = document.querySelector("[data-deck]");
  const left = deck.getBoundingClientRect().left;
  return [...deck.querySelectorAll("[data-chart]:not([hidden]) .plot")].map((plot) => {
    const x = plot._fullLayout.xaxis;
    return plot.getBoundingClientRect().left - left + x._offset + x.l2p(step);
  });
}"""
SETTLED = """() => {
  const { deck } = document.querySelector("[data-deck]");
  const { start, end } = deck.data.axis;
  const plots = [...deck.root.querySelectorAll("[data-chart]:not([hidden]) .plot")];
  return !deck.abort && plots.every(({ _fullLayout: { xaxis: { range } } }) =>
    Math.abs(range[0] - start) + Math.abs(range[1] - end) < 1e-6);
}"""
"""Nothing is asked for, and all rows show the axis: they are moved one by one."""
FAR_CELLS = """async () => {
  const { scale } = await import("/static/js/lanes.js");
  const deck = document.querySelector("[data-deck]").deck;
  const [canvas, map] = [deck.part("[data-heatmap] canvas"), deck.data.heatmap];
  const place = scale(deck.data.axis, canvas.clientWidth);
  const ratio = canvas.width / canvas.clientWidth;
  const { edges, z } = map.grids[0];
  const cells = z.flatMap((row, layer) => row.map((value, at) => ({ layer, at, value })))
    .filter(({ value }) => typeof value === "number").sort((a, b) => a.value - b.value);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return [cells[0], cells.at(-1)].map(({ layer, at }) => {
    const x = Math.floor(place((edges[at] + edges[at + 1]) / 2) * ratio);
    const y = Math.floor(((layer + 0.5) * canvas.height) / map.layers.length);
    return [...data.slice(4 * (y * canvas.width + x)).slice(0, 4)];
  });
}"""
MARK = "document.querySelector('.vline.onset').getBoundingClientRect().left"


@pytest.fixture
def deck(visit, exploded):
    return visit().open_deck("/runs/lrbump/")


@pytest.mark.parametrize("step", [0, 450, 1000])
def test_a_step_has_the_same_pixel_in_every_row(deck, step):
    places = deck.evaluate(PLACE, step)
    assert len(places) == 3
    assert max(places) - min(places) <= 1


def test_the_onset_line_and_the_lanes_agree_with_the_charts(deck, exploded):
    here = deck.evaluate(PLACE, exploded["onset_step"])[0]
    edge = deck.evaluate("document.querySelector('[data-deck]').getBoundingClientRect().left")
    assert deck.evaluate(MARK) - edge == pytest.approx(here, abs=2)
    octagon = deck.locator("svg.lanes a[href*='/incidents/'] path").first.bounding_box()
    assert octagon["x"] + octagon["width"] / 2 - edge == pytest.approx(here, abs=2)


def test_the_part_after_the_last_step_is_hatched(deck):
    hatch = deck.locator(".deck .hatch").bounding_box()
    now = deck.locator(".vline.now").bounding_box()
    assert hatch["x"] == pytest.approx(now["x"], abs=2)


def test_the_crosshair_reads_both_clocks_and_all_values(deck):
    box = deck.locator("[data-chart=loss] .plot").bounding_box()
    deck.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    readout = deck.locator(".readout")
    deck.wait_for_function(
        "() => document.querySelector('.readout').textContent.startsWith('step ')"
    )
    assert "UTC" in readout.inner_text()


def test_a_zoom_reads_finer_data_and_lands_in_the_address(deck):
    box = deck.locator("[data-chart=loss] .plot").bounding_box()
    y = box["y"] + 100
    deck.mouse.move(box["x"] + box["width"] * 0.6, y)
    deck.mouse.down()
    deck.mouse.move(box["x"] + box["width"] * 0.8, y, steps=5)
    with deck.expect_response(lambda answer: "from=" in answer.url):
        deck.mouse.up()
    deck.wait_for_function("() => new URL(location.href).searchParams.has('from')")
    deck.wait_for_function(SETTLED)
    places = deck.evaluate(PLACE, 1000)
    assert max(places) - min(places) <= 1
    deck.keyboard.press("0")
    deck.wait_for_function("() => !new URL(location.href).searchParams.has('from')")


def test_the_axis_can_be_time(deck):
    deck.keyboard.press("x")
    deck.wait_for_function(
        "() => document.querySelector('[data-deck]').deck.data.axis.kind === 'time'"
    )
    assert "x=time" in deck.url


def test_nan_is_a_triangle_at_the_top_and_a_mark_in_its_lane(visit, site):
    rows = [
        {"step": step, "values": {"train/loss": "NaN" if step in (60, 61) else 2.0 - step / 100}}
        for step in range(100)
    ]
    httpx.post(
        f"{site.url}/api/v1/runs/nan-run/metrics",
        json={"source": "http", "rows": rows},
        headers={"Authorization": f"Bearer {site.token}"},
        timeout=60,
    ).raise_for_status()
    from tests.stack import until

    until(lambda: site.drained("nan-run"), "the rows")
    page = visit().open_deck("/runs/nan-run/")
    assert "2 NaN/Inf" in page.locator("[data-chart=loss] [data-caption]").inner_text()
    lane = page.locator("svg.lanes g[aria-label='NaN / Inf']")
    assert "train/loss = NaN at step 60" in lane.locator("title").first.text_content()
    top = page.locator("[data-chart=loss] .plot").bounding_box()["y"]
    triangle = page.locator("[data-chart=loss] .scatterlayer .point").first.bounding_box()
    assert triangle["y"] - top < 30


def test_an_address_brings_back_all_that_was_chosen(visit, exploded):
    asked = "?x=step&from=900&to=1100&smooth=0.9&log=loss&lines=layer 2|layer 5&hide=Node events"
    page = visit().open_deck(f"/runs/lrbump/{asked}")
    page.wait_for_selector("[data-chart=layers]:not([hidden])")
    axis = page.evaluate("document.querySelector('[data-deck]').deck.data.axis")
    assert (axis["start"], axis["end"]) == (900, 1100)
    assert page.get_by_label("Smoothing").input_value() == "0.9"
    assert page.locator("[data-chart=loss] [data-log]").get_attribute("aria-pressed") == "true"
    assert page.locator("svg.lanes g[aria-label='Node events']").count() == 0
    page.locator("[data-chart=layers]").scroll_into_view_if_needed()
    page.wait_for_function(
        "() => document.querySelectorAll('[data-chart=layers] .scatterlayer .trace').length === 2"
    )
    page.get_by_role("button", name="stop showing layer 5").click()
    page.wait_for_url(lambda address: "layer+2" in address and "layer+5" not in address)


def test_cells_far_below_and_above_their_median_are_told_apart_by_hue(deck):
    deck.wait_for_selector("[data-heatmap]:not([hidden]) canvas")
    (low_red, _, low_blue, low_ink), (high_red, _, high_blue, high_ink) = deck.evaluate(FAR_CELLS)
    assert low_blue > low_red
    assert high_red > high_blue
    assert (low_ink, high_ink) == (255, 255)


def test_a_row_of_layers_becomes_a_line_and_a_chart_a_table(deck):
    canvas = deck.locator("[data-heatmap] canvas")
    canvas.scroll_into_view_if_needed()
    canvas.click(position={"x": 300, "y": 40}, modifiers=["Shift"])
    deck.wait_for_selector("[data-chart=layers]:not([hidden])")
    deck.locator("[data-chart=loss] [data-table]").click()
    table = deck.get_by_role("dialog", name="train/loss as a table")
    assert table.locator("tbody tr").count() > 100
    table.get_by_role("button", name="Close").click()
    lanes = deck.evaluate(
        "() => [...document.querySelectorAll('svg.lanes > g')].map((g) => g.innerHTML.split('<'))"
    )
    assert max(map(len, lanes)) <= 400  # A start and an end each.
