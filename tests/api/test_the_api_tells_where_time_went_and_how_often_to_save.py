"""GET /api/v1/runs/<run>/goodput and /planning"""

import pytest

from apps.core.clock import now_ns
from apps.runs import store as runs
from tests import retention_samples

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    return retention_samples.trained(now_ns())


def test_the_wall_clock_is_told_by_what_it_was(ask, run):
    told = ask("runs/boat/goodput").json()
    assert told["wall_s"] == pytest.approx(sum(told["parts"].values()))
    assert told["ratio"] == pytest.approx(told["parts"]["training"] / told["wall_s"])
    assert told["lost_gpu_hours"] == pytest.approx(told["gpu_hours"] * (1 - told["ratio"]))
    assert (told["blind"], told["since_ns"]) == (False, None)


def test_a_window_holds_no_more_than_its_days(ask, run):
    day = ask("runs/boat/goodput?days=1").json()
    assert 0 < day["wall_s"] <= 86_400
    assert day["until_ns"] - day["since_ns"] == 86_400 * 10**9


def test_the_advice_says_what_it_is_made_of(ask, run):
    told = ask("runs/boat/planning").json()
    assert round(told["best_s"] / 60) == 21
    assert told["low_s"] < told["best_s"] < told["high_s"]
    sources = {cost["name"]: cost["source"] for cost in told["costs"]}
    assert sources["pause"] == "measured at the steps around the last saves"
    assert sources["restart"] == "the median of the last restarts"


def test_what_the_query_says_counts_instead(ask, run):
    asked = "pause_s=300&persist_s=0&mtbf_s=86400&restart_s=0&interval_s=3600"
    told = ask(f"runs/boat/planning?{asked}").json()
    costs = {cost["name"]: cost["seconds"] for cost in told["costs"]}
    assert costs["pause"] == 300 and costs["mtbf"] == 86_400
    assert round(told["best_s"] / 60) == 117
    assert (told["now_s"], told["low_s"]) == (3_600, None)
    assert told["now_goodput"] < told["goodput"]


def test_a_run_that_said_nothing_yet_is_answered(ask):
    runs.ensure_run("boat")
    told = ask("runs/boat/goodput").json()
    assert (told["ratio"], told["gpu_hours"], told["blind"]) == (None, None, True)
    assert "assumed: nothing was measured" in str(ask("runs/boat/planning").json())


@pytest.mark.parametrize(
    "query", ["planning?mtbf_s=0", "planning?pause_s=-1", "goodput?days=0", "planning?pause_s=x"]
)
def test_senseless_values_are_refused_by_name(ask, run, query):
    answer = ask(f"runs/boat/{query}")
    assert answer.status_code in (400, 422)
    assert query.partition("?")[2].partition("=")[0] in answer.json()["where"]


@pytest.mark.parametrize("what", ["goodput", "planning"])
def test_no_run_is_no_answer(ask, what):
    assert ask(f"runs/none/{what}").status_code == 404
