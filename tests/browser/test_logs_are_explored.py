"""The logs explorer in a real browser, while lines arrive."""

import json
import time

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LIVE
from tests.stack import until

LINES = "[data-lines] > .line"
NOW_NS = time.time_ns()
COUNT_DIALOGS = """
  globalThis.dialogs = 0;
  const show = HTMLDialogElement.prototype.showModal;
  HTMLDialogElement.prototype.showModal = function () { dialogs += 1; return show.call(this); };
"""
KEY = "talkative"


@pytest.fixture(scope="module")
def say(site):
    """say((rank, text, level, age_s), ...) sends lines of the run in one body; age_s: seconds
    before the tests began."""

    def post(*lines):
        body = "\n".join(
            json.dumps(
                {
                    "ts": str(NOW_NS - int(age_s * 1e9)),
                    "host": f"gpu-{rank // 4:03d}",
                    "rank": rank,
                    "level": level,
                    "msg": text,
                }
            )
            for rank, text, level, age_s in lines
        )
        answer = httpx.post(
            f"{site.url}/api/v1/runs/{KEY}/lines",
            content=body,
            headers={"Authorization": f"Bearer {site.token}"},
            timeout=60,
        )
        assert answer.status_code < 300, answer.text

    return post


@pytest.fixture(scope="module")
def explored(site, say):
    """The run with 600 lines of 8 ranks over ten minutes, one error among them."""
    lines = [(i % 8, f"step {i} fine", "INFO", 600 - i) for i in range(600)]
    say(*lines[:300], (5, "CUDA error: out of memory", "ERROR", 300.5), *lines[300:])
    until(lambda: site.drained(KEY), "the lines")
    return f"/runs/{KEY}/logs/"


def texts(page):
    return page.locator(f"{LINES} .tx").all_inner_texts()


def test_a_query_a_hit_its_context_and_its_permalink(visit, explored):
    page = visit(permissions=["clipboard-read", "clipboard-write"]).page
    page.goto(explored)
    expect(page.locator(LINES)).to_have_count(100)
    page.keyboard.press("/")
    page.keyboard.type("rank:5-2")
    page.keyboard.press("Enter")
    expect(page.locator("#fault mark")).to_have_text("5-2")
    page.fill("#q", '"out of memory"')
    page.press("#q", "Enter")
    expect(page.locator(LINES)).to_have_count(1)
    expect(page.locator(f"{LINES} mark")).to_have_text("out of memory")
    page.locator("h1").click()
    page.keyboard.press("j")
    page.keyboard.press("c")
    expect(page.locator(".context .line")).to_have_count(41)
    page.keyboard.press("y")
    expect(page.locator("[data-status]")).to_have_text("Copied the permalink of the line.")
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    marked = page.locator(f"{LINES}[aria-current]")
    expect(marked).to_contain_text("out of memory")
    page.fill("#q", "")
    page.press("#q", "Enter")
    expect(page.locator(LINES)).to_have_count(200)
    page.select_option("[name=level]", "error")
    expect(page.locator("#q")).to_have_value("level>=error")
    page.go_back()
    expect(page.locator("#q")).to_have_value("")


def test_scrolling_reaches_every_line_once(visit, explored):
    page = visit().page
    page.goto(explored)
    for count in (300, 500, 601):
        page.locator("[data-scroll]").evaluate("box => { box.scrollTop = 0; }")
        expect(page.locator(LINES)).to_have_count(count)
    found = texts(page)
    assert len(set(found)) == 601
    assert [t for t in found if "fine" in t] == [f"step {i} fine" for i in range(600)]


def test_ranks_and_time_are_chosen_in_the_matrix(visit, explored):
    page = visit().page
    page.goto(explored)
    matrix = page.locator("[data-matrix][data-drawn-ms]")
    matrix.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("[data-readout]")).to_contain_text("rank 1 on gpu-000")
    page.keyboard.press("Enter")
    expect(page.locator("#q")).to_have_value("rank:1")
    assert "from=" in page.url
    expect(page.locator(f"{LINES} .rk").filter(has_not_text="1")).to_have_count(0)
    expect(page.locator(f"{LINES} .rk").first).to_have_text("1")


def test_new_lines_appear_and_wait_for_a_reader_who_looks_back(visit, explored, say):
    page = visit().page
    page.goto(explored)
    follow = page.locator("[data-follow]")
    expect(follow).to_have_attribute("aria-pressed", "true")
    page.wait_for_selector(LIVE)
    say((1, "fresh one", "INFO", 0), (1, "late one", "INFO", 30.5))
    expect(page.locator(LINES).last).to_contain_text("fresh one")
    expect(page.locator(f"{LINES}.late")).to_contain_text("late one")
    page.locator("[data-scroll]").evaluate("box => { box.scrollTop = 1500; }")
    say((1, "newest one", "INFO", -1))
    fresh = page.locator("[data-new]")
    expect(fresh).to_have_text("1 new line")
    fresh.click()
    expect(page.locator(LINES).last).to_contain_text("newest one")


def test_lines_over_time_are_one_table_however_often_lines_were_counted(visit, explored):
    page = visit().page
    page.add_init_script(COUNT_DIALOGS)
    page.goto(explored)
    page.locator("[data-matrix][data-drawn-ms]").wait_for()
    page.fill("#q", "step")
    page.press("#q", "Enter")
    expect(page.locator(f"{LINES} mark").first).to_have_text("step")
    page.locator("[data-pulse-table]").click()
    expect(page.get_by_role("dialog", name="Lines over time as a table")).to_be_visible()
    assert page.evaluate("dialogs") == 1
