"""Clocks that are apart and lines that were deleted, on the logs page and by API."""

import orjson
import pytest

from apps.core.clock import now_ns
from apps.dashboard.templatetags.lastgood import MINUS, offset
from apps.logs.domain.chunk.retention import DAY_NS, Cut
from apps.logs.store import expiring, write_lines
from apps.logs.store.bucket import RETRIES
from apps.runs import store as runs
from tests.log_samples import SEEN_NS, parse
from tests.stack import free_port

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]


@pytest.fixture
def run():
    """Twenty steps of three hosts; the clock of n2 is 2.1 s ahead."""
    run_id = runs.ensure_run("boat")
    runs.open_attempt(run_id, 0, SEEN_NS)
    for node, ahead in (("n0", 0), ("n1", 0), ("n2", 2.1)):
        text = "".join(
            f"2026-11-29 12:00:{number + ahead:06.3f} step: {number} loss: 2.5\n"
            for number in range(20)
        )
        write_lines(run_id, 0, node, [parse(text, node=node)], batch_id=node)
    return run_id


@pytest.mark.parametrize("page", ["logs/", "logs/ranks/"])
def test_a_clock_that_is_apart_is_named_and_times_stay(operator, run, page):
    text = operator.get(f"/runs/boat/{page}").content.decode()
    assert "The clock of 1 of 3 hosts is off: <b>n2</b> by +2.1 s" in text
    assert "deleted by retention" not in text


def test_the_api_gives_all_clocks(ask, run):
    answer = ask("runs/boat/clocks").json()
    assert [(c["node"], c["skew_ns"], c["apart"]) for c in answer["clocks"]] == [
        ("n0", 0, False),
        ("n1", 0, False),
        ("n2", 2_100_000_000, True),
    ]
    assert answer["clocks"][0]["steps"] == 20
    assert ask("runs/boat/clocks?attempt=7").json()["clocks"] == []


def test_what_retention_deleted_is_said_where_lines_are_read(operator, run):
    cut = Cut(run, 0, "old", 60, 1, before_ns=SEEN_NS + DAY_NS)
    assert sum(lines for lines, _ in expiring.carry_out(cut, now_ns())) == 60
    text = operator.get("/runs/boat/logs/").content.decode()
    assert "were deleted by retention (60 lines" in text
    assert "2026-11-29 12:00:21 UTC" in text


@pytest.mark.parametrize(
    ("query", "said"), [("step:5", True), ("step:5-", True), ("rank:0", False), ("", False)]
)
def test_lines_without_a_step_that_a_step_finds_are_said(operator, run, query, said):
    text = operator.get("/runs/boat/logs/", {"q": query}).content.decode()
    assert ("those of the same minutes that name no step too" in text) is said
    (first, *_) = operator.get("/runs/boat/logs/lines", {"q": query}).streaming_content
    assert orjson.loads(first.splitlines()[0])["said"]["by_steps"] is said


def test_what_numbers_of_lines_count_is_said_beside_them(operator, run):
    lines = operator.get("/runs/boat/logs/").content.decode()
    assert "of all attempts, repeats of rank files by consoles and W&amp;B among them" in lines
    assert "more than 10 s older than lines that came before them" in lines
    patterns = operator.get("/runs/boat/logs/patterns/").content.decode()
    assert "of 60 lines of attempt 0, without what consoles repeat" in patterns


@pytest.mark.parametrize(
    ("span_ns", "said"),
    [
        (2_124_837_000, "+2.12 s"),
        (-53_000_000, f"{MINUS}53 ms"),
        (140_000, "+0.14 ms"),
        (0, "+0 ms"),
    ],
)
def test_a_span_between_clocks_has_a_sign(span_ns, said):
    assert offset(span_ns) == said


def test_while_the_bucket_is_away_a_page_says_so_and_shows_the_rest(
    operator, ask, bucket, settings, monkeypatch
):
    monkeypatch.setitem(RETRIES, "max_retries", 0)
    run_id = runs.ensure_run("boat")
    runs.open_attempt(run_id, 0, SEEN_NS)
    write_lines(run_id, 0, "n0", [parse("one\n")], batch_id="a")
    settings.LOGS_BUCKET_URL = f"http://127.0.0.1:{free_port()}"
    answer = operator.get("/runs/boat/logs/")
    assert (answer.status_code, b"lastgood-logs fails" in answer.content) == (200, True)
    assert ask("runs/boat/logs").status_code == 503
    settings.LOGS_BUCKET_URL = bucket.url
    assert ask("runs/boat/logs").json()["items"][0]["text"] == "one"
