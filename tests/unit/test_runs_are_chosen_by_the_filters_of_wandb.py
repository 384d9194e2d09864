"""Filters and orders of `wandb.Api().runs`: what is understood is right, the rest is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.wandb.runquery import parse_filters, sort_key

RUN = {
    "name": "r1",
    "display_name": "my run",
    "state": "finished",
    "created_at": "2026-11-29T10:00:00Z",
    "tags": ["a", "b"],
    "config": {"lr": 0.1, "opt": {"name": "adam"}, "with.dot": 3},
    "summary_metrics": {"loss": 1.5, "text": "x"},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(
        ["$or", "$not", "$gt", "$regex", "$in", "state", "config.lr", "tags"]), inner),
)  # fmt: skip


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"state": "finished"},
        {"config.lr": 0.1},
        {"config.lr.value": {"$lte": 0.1, "$gt": 0}},
        {"config.opt.name": "adam"},
        {"config.with.dot": 3},
        {"tags": "a"},
        {"tags": {"$in": ["x", "b"]}},
        {"tags": ["a", "b"]},
        {"displayName": {"$regex": "^my.*run$"}},
        {"summary_metrics.loss": {"$exists": True}},
        {"summary.nothing": {"$exists": False}},
        {"createdAt": {"$gt": "2026-11-28"}},
        {"$or": [{"state": "running"}, {"name": {"$ne": "r2"}}]},
        {"$not": {"state": "running"}},
        {"$nor": [{"state": "running"}]},
        {"$and": [{"state": "finished"}, {"config.lr": {"$nin": [1, 2]}}]},
    ],
)
def test_a_run_passes_what_is_true_of_it_and_not_its_contrary(filters):
    assert parse_filters(json.dumps(filters))(RUN)
    assert not parse_filters(json.dumps({"$not": filters}))(RUN)


@pytest.mark.parametrize(
    "filters",
    [
        {"summary_metrics.text": {"$gt": 1}},
        {"config.none": {"$gt": 1}},
        {"config.lr.deeper": 1},
    ],
)
def test_what_cannot_be_compared_does_not_pass(filters):
    assert not parse_filters(json.dumps(filters))(RUN)


@pytest.mark.parametrize(
    "filters",
    [
        {"color": "red"},
        {"config.": 1},
        {"state": {"$like": "x"}},
        {"state": {"$regex": "(a+)+$"}},
        {"state": {"$regex": "a*b*"}},
        {"$or": {"state": "x"}},
        {"$and": [{}] * 101},
        {"$and": [{"$or": [{"state": "x"}, {"name": "x"}]}] * 50},
        {"state": {"$in": [[]] * 101}},
        {"state": {"$in": ["x" * 1_000] * 300}},
        [],
    ],
)
def test_what_is_not_understood_is_refused_and_not_answered_wrongly(filters):
    with pytest.raises(BadPayload):
        parse_filters(json.dumps(filters))


@given(st.text() | JSON.map(json.dumps))
def test_any_text_is_a_filter_or_refused(text):
    try:
        passes = parse_filters(text)
    except BadPayload:
        return
    assert passes(RUN) in (True, False)


def test_runs_are_sorted_upwards_or_downwards_with_the_unknown_apart():
    runs = [{"summary_metrics": {"loss": loss}} for loss in (3.0, "x", 1.0, None, float("nan"))]
    key, downwards = sort_key("+summary_metrics.loss")
    assert not downwards
    assert [run["summary_metrics"]["loss"] for run in sorted(runs, key=key)][:3] == [1.0, 3.0, "x"]
    assert sort_key("-created_at")[1]
    with pytest.raises(BadPayload):
        sort_key("+color")
