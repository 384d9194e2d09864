import json

import orjson
import plotly.graph_objects as go
import pytest

from apps.dashboard import curves as cv
from apps.dashboard.figures import Chart, line_chart, ranks_chart

AXIS = cv.Axis("step", 0, 100, (0, 50, 100))


def curve(attempt=0, rank=None, nonfinite=(), value=1.0):
    steps = list(range(100))
    low, high = [value] * 100, [value + 0.1] * 100
    times = [10**18 + s * 10**9 for s in steps]
    return cv.Curve(attempt, steps, times, low, high, low, nonfinite, 100, 100, 2, rank)


def roles(drawn):
    return [trace["meta"]["role"] for trace in drawn["figure"]["data"]]


@pytest.mark.parametrize("log", [False, True])
def test_the_figure_survives_plotly_and_strict_json(log):
    drawn = line_chart(Chart("loss", [curve(nonfinite=[(5, "NaN")])], {0: None}, AXIS, log=log))
    text = orjson.dumps(drawn["figure"])
    json.loads(text, parse_constant=pytest.fail)
    go.Figure(json.loads(text))


def test_nan_is_drawn_on_its_own_lane_at_the_top():
    drawn = line_chart(Chart("loss", [curve(nonfinite=[(5, "NaN"), (7, "Infinity")])], {}, AXIS))
    (lane,) = [t for t in drawn["figure"]["data"] if t["meta"]["role"] == "nonfinite"]
    assert (list(lane["x"]), lane["yaxis"]) == ([5.0, 7.0], "y2")
    assert "2 NaN/Inf" in drawn["caption"]


def test_what_counts_is_drawn_over_what_was_given_up():
    drawn = line_chart(Chart("loss", [curve(0), curve(1)], {0: 40, 1: None}, AXIS))
    assert [r for r in roles(drawn) if r in ("old", "value")] == ["old", "value", "value"]


def test_a_compared_attempt_is_drawn_whole_over_the_others():
    chart = Chart("loss", [curve(0), curve(1)], {0: 40, 1: None}, AXIS, compare=0)
    drawn = line_chart(chart)
    beside = drawn["figure"]["data"][-1]
    assert beside["meta"] == {"role": "compare", "attempt": 0}
    assert len(beside["x"]) == 100


def test_colours_are_variables_of_the_page_theme():
    text = orjson.dumps(line_chart(Chart("loss", [curve()], {}, AXIS))["figure"]).decode()
    assert "var(--blue)" in text
    assert "#" not in text


def test_the_suspect_rank_is_drawn_last_and_named():
    chart = Chart("local loss", [curve(rank=0), curve(rank=5), curve(rank=2)], {}, AXIS)
    drawn = ranks_chart(chart, 5)
    assert drawn["figure"]["data"][-1]["meta"]["rank"] == 5
    assert drawn["caption"] == "local loss of 3 ranks: rank 5 strong, the others grey"
