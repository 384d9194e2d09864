"""metrics.domain.spikes: laws that hold for every curve."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.metrics.domain.spikes import SpikeDetector
from tests.metric_samples import NAMES, curve_rows
from workers.benches import loss_curves

ROWS, ONSET = 620, 430
BASE = loss_curves.healthy(ROWS, seed=11)
CURVES = {name: curve_rows(spoil(BASE, ONSET)) for name, spoil in loss_curves.FAULTS.items()}
CURVES["batch"] = [
    replace(row, loss=2 * row.loss, batch_size=512.0) if row.step >= ONSET
    else replace(row, batch_size=256.0)
    for row in curve_rows(BASE)
]  # fmt: skip
NUMBERS = {"bits": 1.4427, "summed": 65_536.0, "tiny": 1e-9}


def alarms(rows, planned=()):
    """(row of the alarm, key, severity) of everything told, row by row."""
    detector, found = SpikeDetector(planned=planned), []
    detector.start_attempt(0, dict(NAMES))
    for row in rows:
        found += [(row.step, f.key, f.kind, f.severity) for f in detector.feed([row])]
    return found


WHOLE = {name: alarms(rows) for name, rows in CURVES.items()}


@pytest.mark.parametrize("name", CURVES)
def test_there_is_something_to_tell(name):
    assert WHOLE[name]


@given(st.sampled_from(sorted(CURVES)), st.integers(300, ROWS))
@settings(max_examples=30, deadline=None)
def test_rows_to_come_change_nothing_that_was_said(name, seen):
    known = [alarm for alarm in WHOLE[name] if alarm[0] < seen]
    assert alarms(CURVES[name][:seen]) == known


@given(st.sampled_from(sorted(CURVES)), st.integers(1, ROWS - 1))
@settings(max_examples=30, deadline=None)
def test_a_restart_at_any_row_changes_nothing(name, cut):
    rows = CURVES[name]
    first = SpikeDetector()
    first.start_attempt(0, dict(NAMES))
    found = {f.key: f for f in first.feed(rows[:cut])}
    second = SpikeDetector.load(first.dump())
    found |= {f.key: f for f in second.feed(rows[cut:])}

    at_once = SpikeDetector()
    at_once.start_attempt(0, dict(NAMES))
    assert found == {f.key: f for f in at_once.feed(rows)}
    assert second.dump() == at_once.dump()


@pytest.mark.parametrize("unit", NUMBERS)
@pytest.mark.parametrize("name", CURVES)
def test_the_unit_of_the_loss_changes_nothing(name, unit):
    factor = NUMBERS[unit]
    rows = [replace(row, loss=factor * row.loss) for row in CURVES[name]]
    assert alarms(rows) == WHOLE[name]


@pytest.mark.parametrize("name", CURVES)
def test_the_interval_of_the_log_changes_only_the_steps(name):
    rows = [replace(row, step=25 * row.step) for row in CURVES[name]]
    assert [(at // 25, kind, s) for at, _, kind, s in alarms(rows)] == [
        (at, kind, s) for at, _, kind, s in WHOLE[name]
    ]


@pytest.mark.parametrize(
    ("name", "pages"),
    [("explosion", True), ("level shift", True), ("nan", True), ("batch", False)],
)
def test_a_loss_below_zero_is_judged_too(name, pages):
    rows = [replace(row, loss=row.loss - 4.0) for row in CURVES[name]]
    if name == "batch":
        rows = [replace(row, loss=row.loss - 4.0) for row in curve_rows(BASE)]
    assert any(severity == "page" for *_, severity in alarms(rows)) is pages
