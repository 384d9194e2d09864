"""workers.benches.uifill: names that repeat a voice have rows, blocks and buckets of their own."""

import pytest

from apps.metrics import heatmap
from apps.metrics import store as metrics
from apps.metrics.records import LayerQuery, SeriesQuery
from apps.runs import store as runs
from workers.benches import uifill

pytestmark = pytest.mark.django_db
SIZE = uifill.Size(steps=3_000, keys=30, layers=6, ranks=1)


@pytest.fixture
def filled(db):
    run_id = runs.ensure_run("bench")
    points = uifill.write_metrics(run_id, SIZE, 1_795_981_200_000_000_000)
    return run_id, points


def test_every_name_has_every_point(filled):
    run_id, points = filled
    windows = metrics.read_series(SeriesQuery(run_id, SIZE.names))
    assert {window.key for window in windows} == set(SIZE.names)
    assert sum(window.points_stored for window in windows) == points == SIZE.rows * 30
    assert {(w.attempt, w.step[0], w.step[-1]) for w in windows} <= {
        (0, w.step[0], SIZE.fork - 1) for w in windows
    } | {(1, w.step[0], SIZE.steps - 1) for w in windows}


def test_a_name_that_repeats_a_voice_is_drawn_as_it_is(filled):
    run_id, _ = filled
    repeated = SIZE.names[len(SIZE.written)]
    first, second = (
        metrics.read_rows(run_id, 1, [name])[name] for name in (SIZE.written[5], repeated)
    )
    assert [a.tolist() for a in first] == [b.tolist() for b in second]
    grid = heatmap.layer_grid(LayerQuery(run_id, 1, "grad_norm"))
    assert grid.layers == [f"layer {n}" for n in range(SIZE.layers)]
