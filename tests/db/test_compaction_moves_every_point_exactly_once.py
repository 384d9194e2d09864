"""metrics.services.compact and the tiers it makes."""

import threading

import numpy as np
import pytest
from django.db import connection, transaction

from apps.core.records import MetricRow
from apps.metrics import services, store
from apps.metrics.heatmap import layer_grid
from apps.metrics.models import ColdBlock, HotBlock
from apps.metrics.records import LayerQuery
from apps.metrics.store import SeriesQuery
from tests.metric_samples import T0_NS, S, recorded_rank_rows, recorded_rows, rows_of

RUN = 42
LONG = 40_000


def write(rows, run=RUN):
    for start in range(0, len(rows), 500):
        store.write_rows(run, 0, rows[start : start + 500], source="test")


def long_rows():
    noise = np.random.default_rng(0).normal(size=LONG)
    noise[12_345], noise[20_000], noise[31_000] = 99.0, np.nan, np.inf
    return rows_of(noise.tolist(), key="x")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["lrbump", "badbatch"])
def test_a_recorded_run_reads_the_same_before_and_after(name):
    rows = recorded_rows(name)
    write(rows)
    keys = tuple(info.key for info in store.keys(RUN))
    asked = SeriesQuery(RUN, keys, points=200)
    before = [store.read_series(asked), layer_grid(LayerQuery(RUN, 0)),
              store.latest(RUN, 0, keys)]  # fmt: skip
    while store.compact_once(RUN, everything=True):
        pass

    assert HotBlock.objects.count() == 0
    assert tuple(info.key for info in store.keys(RUN)) == keys
    assert before == [store.read_series(asked), layer_grid(LayerQuery(RUN, 0)),
                      store.latest(RUN, 0, keys)]  # fmt: skip
    assert sum(w.points_stored for w in store.read_series(asked)) == sum(
        len(row.values) for row in rows
    )


@pytest.mark.django_db
def test_logs_of_all_ranks_read_the_same_before_and_after():
    write(list(recorded_rank_rows("sdc_rollback")))
    before = store.read_rank_rows(RUN, 0, "rank/local_loss")
    assert store.compact_once(RUN, everything=True) > 0
    after = store.read_rank_rows(RUN, 0, "rank/local_loss")

    order = [np.lexsort((p.rank, p.step)) for p in (before, after)]
    assert before.value[order[0]].tolist() == after.value[order[1]].tolist()


@pytest.mark.django_db
def test_few_rows_wait():
    write(rows_of([1.0] * 20))
    assert (services.compact(RUN), store.runs_to_compact()) == (0, [])


@pytest.mark.django_db
def test_due_runs_are_found_and_done_once():
    write(rows_of([1.0] * 2_000))
    assert store.runs_to_compact() == [RUN]
    assert services.compact_due() == 4
    assert services.compact_due() == 0


@pytest.mark.django_db
def test_a_damaged_block_keeps_no_other_run_from_its_compaction(caplog):
    write(rows_of([1.0] * 2_000), run=41)
    write(rows_of([1.0] * 2_000), run=42)
    HotBlock.objects.filter(run_id=41).update(cells=b"damaged")
    assert services.compact_due() == 4
    assert [r.message for r in caplog.records] == ["metrics.compact_failed"]


@pytest.mark.django_db
def test_a_failed_compaction_leaves_everything_as_it_was():
    write(rows_of(range(1_500)))
    with pytest.raises(RuntimeError), transaction.atomic():
        store.compact_once(RUN)
        raise RuntimeError

    assert (HotBlock.objects.count(), ColdBlock.objects.count()) == (3, 0)
    assert len(store.read_rows(RUN, 0, ["train/loss"])["train/loss"][0]) == 1_500


@pytest.mark.django_db
def test_a_long_series_comes_from_tiers_with_its_extremes():
    rows = long_rows()
    write(rows[:35_000])
    services.compact(RUN)
    write(rows[35_000:])
    (window,) = store.read_series(SeriesQuery(RUN, ("x",), points=300))

    assert window.bucket_steps == 256
    assert window.points_stored == LONG
    assert (max(window.max), window.last[-1]) == (99.0, rows[-1].values["x"])
    assert window.nonfinite == [(20_000, "NaN"), (31_000, "Infinity")]
    assert sum(window.count) == LONG - 2


@pytest.mark.django_db
def test_tiers_and_points_give_the_same_buckets(monkeypatch):
    write(long_rows())
    services.compact(RUN)
    asked = SeriesQuery(RUN, ("x",), points=300, from_step=1_000, to_step=38_911)
    tiered = store.read_series(asked)
    monkeypatch.setattr("apps.metrics.store.read.RAW_POINTS", 1 << 30)

    (by_tier,), (by_point,) = tiered, store.read_series(asked)
    assert by_tier.step[1:] == by_point.step[1:]
    assert by_tier.max[1:] == by_point.max[1:]


@pytest.mark.django_db
def test_a_late_point_reaches_its_tier():
    write(long_rows())
    services.compact(RUN)
    store.write_rows(RUN, 0, [MetricRow(500, T0_NS, {"x": -77.0})], source="late")
    store.compact_once(RUN, everything=True)
    (window,) = store.read_series(SeriesQuery(RUN, ("x",), points=300))

    assert min(window.min) == -77.0
    assert window.points_stored == LONG + 1


@pytest.mark.django_db(transaction=True)
def test_a_reader_beside_a_compaction_sees_every_point_once():
    write([MetricRow(s, T0_NS + s * S, {"x": float(s)}) for s in range(20_000)])
    sizes, done = [], threading.Event()

    def read():
        while not done.is_set():
            sizes.append(len(store.read_rows(RUN, 0, ["x"])["x"][0]))
        connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    moved = services.compact(RUN)
    done.set()
    reader.join()

    assert moved == 40
    assert set(sizes) == {20_000}
