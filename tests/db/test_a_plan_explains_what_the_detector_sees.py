"""metrics.services.detect with the planned changes of the run."""

from dataclasses import replace

import pytest
from django.utils import timezone

from apps.accounts.records import SYSTEM
from apps.core.records import MetricRow
from apps.metrics import planned, services, store
from apps.metrics.domain.planned import PlannedChange
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.metric_samples import T0_NS, S, curve_rows
from workers.benches.loss_curves import healthy, level_shift

pytestmark = pytest.mark.django_db
SHIFT = 500
PLAN = PlannedChange("data", SHIFT - 5, None, "code joins the mix", "person")


@pytest.fixture
def run():
    run_id = runs.ensure_run("planned")
    runs.open_attempt(run_id, 0, T0_NS)
    return run_id


def write(run, rows, **more):
    """more: names of series and their values at a step, as functions."""
    found = []
    for row in rows:
        own = {"train/loss": row.loss, "train/grad_norm": row.grad_norm}
        values = {**own, **{name: value(row.step) for name, value in more.items()}}
        found.append(MetricRow(row.step, row.time_ns, values))
    store.write_rows(run, 0, found, source="test")
    steps = Progress(first_step=rows[0].step, last_step=rows[-1].step, last_row_ns=rows[-1].time_ns)
    runs.note_progress(run, 0, steps, timezone.now())


def shifted(rows=560):
    return curve_rows(level_shift(healthy(rows, seed=3, outliers=False), SHIFT))


def told(run):
    return [(f.key, f.kind, f.severity) for f in services.detect(run, 0, 0)]


def test_what_was_said_before_pages_nobody(run):
    planned.add(run, PLAN, SYSTEM, T0_NS)
    write(run, shifted())
    (found,) = services.detect(run, 0, 0)
    assert (found.severity, found.facts["planned_source"]) == ("info", "person")
    assert "code joins the mix" in found.title


def test_what_is_said_afterwards_turns_the_page_into_information_and_back(run):
    write(run, shifted())
    page = (f"spike:a0:s{SHIFT}", "level_shift", "page")
    assert told(run) == [page]

    info, _ = planned.add(run, PLAN, SYSTEM, T0_NS)
    assert told(run) == [(page[0], page[1], "info")]

    planned.remove(run, info.number, SYSTEM, T0_NS)
    assert told(run) == [page]


def test_a_logged_batch_size_explains_a_summed_loss(run):
    curve = healthy(560, seed=3, outliers=False)
    curve.loss[SHIFT:] *= 2
    write(
        run, curve_rows(curve), **{"train/global_batch_size": lambda step: 256 << (step >= SHIFT)}
    )
    (found,) = services.detect(run, 0, 0)
    assert (found.severity, found.facts["planned"]) == ("info", "batch size 256 -> 512")


def test_lines_without_a_loss_are_seen_by_what_else_they_hold(run):
    rows = [replace(r, time_ns=T0_NS + 60 * S * r.step) for r in curve_rows(healthy(60, seed=1))]
    write(run, rows, **{"train/lr": lambda step: 1e-4})
    assert told(run) == []
    silent = [MetricRow(60 + n, T0_NS + 60 * S * (60 + n), {"train/lr": 1e-4}) for n in range(4)]
    store.write_rows(run, 0, silent, source="test")
    assert told(run) == [("missing_loss:a0:s60", "missing_loss", "page")]
