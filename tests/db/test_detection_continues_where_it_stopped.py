"""metrics.services.detect."""

from dataclasses import replace

import pytest
from django.db import transaction

from apps.core.records import MetricRow
from apps.metrics import moved as moved_signals
from apps.metrics import store
from apps.metrics.services import detect
from apps.runs import store as runs
from tests.metric_samples import T0_NS, S, curve_rows, recorded_rank_rows, recorded_rows
from workers.benches.loss_curves import explosion, healthy

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    run_id = runs.ensure_run("watched")
    runs.open_attempt(run_id, 0, T0_NS)
    return run_id


def write(run, rows, attempt=0):
    store.write_rows(run, attempt, rows, source="test")


def fed(run, rows, *, attempt=0, flush=40):
    """Newest state of every finding when rows are written and judged flush by flush. Statistics of
    layers have a test of their own."""
    found = {}
    for start in range(0, len(rows), flush):
        write(run, rows[start : start + flush], attempt)
        found |= {finding.key: finding for finding in judged(run, attempt)}
    return found


def judged(run, attempt=0):
    return [finding for finding in detect(run, attempt, 0) if finding.kind != "layer_trend"]


def metric_rows(curve, first_step=0):
    rows = curve_rows(curve, first_step)
    return [
        MetricRow(row.step, row.time_ns, {"train/loss": row.loss, "train/grad_norm": row.grad_norm,
                                          "train/lr": row.lr})
        for row in rows
    ]  # fmt: skip


@pytest.mark.parametrize("flush", [16, 5_000])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lrbump", [("spike:a0:s1001", "explosion", "page")]),
        ("sdc_rollback", [("spike:a0:s701", "level_shift", "page")]),
        ("badbatch", [("spike:a0:s350", "outlier", "warn")]),
        ("quiet", []),
    ],
)
def test_recorded_runs_however_they_are_cut(run, name, expected, flush):
    found = fed(run, recorded_rows(name), flush=flush)
    assert [(f.key, f.kind, f.severity) for f in found.values()] == expected
    assert detect(run, 0, 0) == []


def test_compaction_in_between_changes_nothing(run):
    rows = recorded_rows("lrbump")
    found = fed(run, rows[:1_003])
    while store.compact_once(run, everything=True):
        pass
    found |= fed(run, rows[1_003:])
    assert list(found) == ["spike:a0:s1001"]


def test_a_transaction_that_fails_leaves_the_rows_to_the_next_call(run):
    write(run, recorded_rows("lrbump"))
    with pytest.raises(RuntimeError), transaction.atomic():
        assert len(judged(run)) == 1
        raise RuntimeError

    assert [f.key for f in judged(run)] == ["spike:a0:s1001"]
    assert detect(run, 0, 0) == []


def test_batches_that_overtake_each_other_give_the_same_findings(run):
    rows = recorded_rows("lrbump")
    found = fed(run, [*rows[:900], *rows[1_100:], *rows[900:1_100]], flush=200)
    assert "spike:a0:s1001" in found
    assert found["spike:a0:s1001"].kind == "explosion"


def test_an_onset_that_late_rows_disprove_is_taken_back(run):
    rows = recorded_rows("lrbump")
    early = fed(run, [*rows[:1_001], *rows[1_040:1_060]], flush=1_021)
    late = fed(run, rows[1_001:1_040])

    assert [(f.key, f.page) for f in early.values()] == [("spike:a0:s1040", True)]
    assert {f.key: (f.severity, f.closed_step is None) for f in late.values()} == {
        "spike:a0:s1001": ("page", True),
        "spike:a0:s1040": ("info", False),
    }
    assert "late rows" in late["spike:a0:s1040"].title


def test_other_rows_of_old_steps_change_nothing(run):
    found = fed(run, recorded_rows("quiet"))
    write(run, [MetricRow(1_727, T0_NS, {"system/gpu.0.temp": 40.0})])
    write(run, [MetricRow(10, T0_NS, {"train/lr": 1.0})])
    assert (found, detect(run, 0, 0)) == ({}, [])


def test_a_second_attempt_knows_what_was_normal_before_its_fork(run):
    curve = healthy(700, seed=1, outliers=False)
    fed(run, metric_rows(curve)[:620])
    runs.open_attempt(run, 1, T0_NS)
    again = metric_rows(explosion(curve, 615))[600:]
    (found,) = fed(run, again, attempt=1, flush=7).values()

    assert (found.kind, found.attempt, found.onset_step) == ("explosion", 1, 615)
    assert found.seen_step == 616


def test_a_resumed_healthy_run_is_silent(run):
    fed(run, recorded_rows("lrbump"))
    runs.open_attempt(run, 1, T0_NS)
    assert fed(run, recorded_rows("lrbump", 1), attempt=1) == {}


@pytest.mark.parametrize("order", ["by time", "host after host", "last host first"])
def test_the_rank_is_named_in_whatever_order_hosts_send(run, order):
    rows = recorded_rank_rows("sdc_rollback")
    arranged = {
        "by time": sorted(rows, key=lambda row: row.time_ns),
        "host after host": rows,
        "last host first": rows[::-1],
    }[order]
    found = fed(run, arranged, flush=100)

    pages = [(f.rank, f.onset_step) for f in found.values() if f.page]
    assert pages == [(5, 710)]
    assert next(iter(found.values())).suspects[0].fault_class == "silent_data_corruption"


def test_the_signals_that_moved_first(run):
    write(run, recorded_rows("lrbump"))
    moved = moved_signals.moved(run, 0, 1_001).signals

    assert {m.departure.step for m in moved[:14]} == {1_000}
    assert moved[0].key == "train/lr"
    assert moved[1].key.startswith("update_ratio/layers.")
    assert moved_signals.moved(run, 0, 800).signals == []


def test_a_corrupted_layer_moves_first_in_its_own_gradients(run):
    write(run, recorded_rows("sdc_rollback"))
    names = [m.key for m in moved_signals.moved(run, 0, 701).signals]
    assert sorted(names[:3]) == [f"grad_norm/layers.{layer}" for layer in (2, 3, 4)]


def test_a_loss_that_appears_late_is_watched_from_then_on(run):
    rows = metric_rows(explosion(healthy(400, seed=1, outliers=False), 300))
    silent = [replace(row, values={"train/lr": 1e-4}) for row in rows[:100]]
    found = fed(run, [*silent, *rows[100:]])
    assert [f.onset_step for f in found.values()] == [300]
    assert next(iter(found.values())).onset_time_ns == T0_NS + 300 * S
