"""metrics.moved."""

import numpy as np
import pytest

from apps.core.records import MetricRow
from apps.metrics import moved as sought
from apps.metrics import store
from apps.runs import store as runs
from tests.metric_samples import T0_NS, S, recorded_rank_rows, recorded_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    run_id = runs.ensure_run("moved")
    runs.open_attempt(run_id, 0, T0_NS)
    return run_id


def layered(series, *, rows=200, moved=(), every=1):
    """Rows of many series; moved: (series, step) from which on it is three times as large."""
    values = 1 + 0.03 * np.random.default_rng(0).standard_normal((rows, series))
    for column, step in moved:
        values[step // every :, column] *= 3
    names = [f"grad_norm/layers.{n}" for n in range(series)]
    return [
        MetricRow(every * at, T0_NS + every * at * S, dict(zip(names, line.tolist(), strict=True)))
        for at, line in enumerate(values)
    ]


def steps(found):
    return [(signal.key, signal.departure.step) for signal in found.signals]


def test_beyond_five_hundred_series_none_is_left_out(run):
    store.write_rows(run, 0, layered(1_200, moved=[(1_150, 140), (3, 145), (7, 160)]), source="t")
    found = sought.moved(run, 0, 150)
    assert steps(found) == [
        (f"grad_norm/layers.{n}", step) for n, step in ((1_150, 140), (3, 145), (7, 160))
    ]
    assert (found.looked_at, found.left_out, found.layered) == (1_200, 0, True)


def test_more_than_the_bound_are_counted_and_the_most_telling_are_looked_at(run, monkeypatch):
    monkeypatch.setattr(sought, "MAX_SIGNALS", 5)
    rows = [
        MetricRow(r.step, r.time_ns, {**r.values, "weight_norm/layers.0": 1.0, "extra_norm": 1.0})
        for r in layered(5, moved=[(0, 140)])
    ]
    store.write_rows(run, 0, rows, source="t")
    found = sought.moved(run, 0, 150)
    assert (found.looked_at, found.left_out) == (5, 2)
    assert steps(found) == [("grad_norm/layers.0", 140)]


def test_sparse_series_are_read_from_farther_back(run):
    store.write_rows(run, 0, layered(3, moved=[(1, 1_500)], every=10), source="t")
    assert steps(sought.moved(run, 0, 1_504)) == [("grad_norm/layers.1", 1_500)]


def test_a_series_that_ended_long_before_is_not_read_from_farther_back(run, monkeypatch):
    read, windows = store.read_matrix, []

    def noted(run_id, attempt, key_ids, low, high):
        windows.append((len(key_ids), high - low))
        return read(run_id, attempt, key_ids, low, high)

    monkeypatch.setattr(store, "read_matrix", noted)
    ended = [MetricRow(r.step, r.time_ns, {"ended_norm": 1.0}) for r in layered(1, rows=1_000)]
    sparse = layered(2, every=10, moved=[(1, 1_500)])
    store.write_rows(run, 0, ended, source="t")
    store.write_rows(run, 0, sparse, source="t")
    assert steps(sought.moved(run, 0, 1_504)) == [("grad_norm/layers.1", 1_500)]
    assert [series for series, _ in windows] == [3, 2]


def test_the_rank_that_left_the_others_is_among_them(run):
    store.write_rows(run, 0, recorded_rows("sdc_rollback"), source="t")
    store.write_rows(run, 0, recorded_rank_rows("sdc_rollback"), source="t")
    found = sought.moved(run, 0, 701)
    (of_a_rank,) = [signal for signal in found.signals if signal.rank is not None]
    assert (of_a_rank.key, of_a_rank.rank) == ("rank/local_loss", 5)
    assert of_a_rank.departure.step == 710
    assert of_a_rank.departure.value > 2 * of_a_rank.departure.before


def test_a_run_without_series_of_layers_says_so(run):
    rows = [MetricRow(n, T0_NS + n * S, {"train/loss": 2.0}) for n in range(100)]
    store.write_rows(run, 0, rows, source="t")
    found = sought.moved(run, 0, 90)
    assert (found.signals, found.looked_at, found.layered) == ([], 1, False)
