"""/runs/<run>/planning/ and /goodput/"""

import re

import pytest

from apps.core.clock import now_ns
from apps.runs import store as runs
from tests import retention_samples

pytestmark = pytest.mark.django_db
PAGE = "/runs/boat/planning/"


@pytest.fixture
def run():
    return retention_samples.trained(now_ns())


def text(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def test_the_advice_is_made_of_what_was_measured(reader, run):
    page = text(reader.get(PAGE))
    assert "Best interval 21 min" in page
    assert "measured at the steps around the last saves" in page
    assert "1 restart in 3 h 55 min" in page
    assert "After 1 restart, nine chances of ten put the best interval between" in page
    assert "the median of the last restarts" in page


def test_what_a_person_types_counts_instead(reader, run):
    asked = {"pause": "300", "persist": "0", "mtbf": "24", "restart": "0", "interval": "60"}
    page = text(reader.get(PAGE, asked))
    assert "Best interval 1 h 56 min" in page
    assert "Now every 1 h 00 min" in page
    assert page.count("typed") == 4  # of the five one is as measured


def test_the_restore_table_answers_what_was_asked(reader, run):
    asked = {"size": "3500", "hosts": "128", "copies": "8", "host": "2", "store": "100"}
    page = text(reader.get(PAGE, asked))
    assert "Direct 4 min" in page
    assert "25.5 TiB the store" in page
    assert "Read once, then exchange 42 s 3.2 TiB" in page


@pytest.mark.parametrize(
    ("sent", "where"),
    [
        ({"pause": "long"}, "pause:"),
        ({"mtbf": "0"}, "mtbf:"),
        ({"hosts": "0"}, "hosts:"),
        ({"store": "-1"}, "store:"),
        ({"restart": "1e999"}, "restart:"),
    ],
)
def test_senseless_assumptions_are_refused_by_field(reader, run, sent, where):
    answer = reader.get(PAGE, sent)
    assert answer.status_code == 400
    assert where in text(answer)


@pytest.mark.parametrize("value", ["0", "1e-300", "1e12"])
def test_extreme_assumptions_break_nothing(reader, run, value):
    names = ("pause", "persist", "mtbf", "restart", "interval", "size", "hosts", "copies", "net")
    for name in names:
        assert reader.get(PAGE, {name: value}).status_code in (200, 400)


def test_a_run_that_says_nothing_is_planned_with_assumptions(reader):
    runs.ensure_run("boat")
    page = text(reader.get(PAGE))
    assert "assumed: nothing was measured" in page
    assert "Nothing was heard of this run yet" in page
    assert "Say how large the checkpoint is" in page


def test_the_goodput_of_all_runs_is_weighted_by_gpus(reader, run):
    retention_samples.trained(now_ns(), key="ship", gpus=32)
    retention_samples.run_with(now_ns(), [100], key="blind")
    page = text(reader.get("/goodput/?days=1"))
    assert "All runs together" in page
    assert "200 GPU-hours" in page
    assert page.index("ship") < page.index("boat")
    assert "1 run whose steps are not known left out" in page


def test_without_runs_the_fleet_page_says_so(reader):
    assert "No run was heard of in the last 7 days" in text(reader.get("/goodput/"))
