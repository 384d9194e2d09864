"""metrics.domain.numerics, through the detector."""

import math
from dataclasses import replace

import pytest

from apps.metrics.domain.numerics import bad_loss
from tests.metric_samples import curve_rows, findings, pages
from workers.benches.loss_curves import healthy, not_a_number

NAN, INF = math.nan, math.inf


def rows_with(changes, rows=400):
    made = curve_rows(healthy(rows, seed=1, outliers=False))
    return [replace(row, **changes.get(row.step, {})) for row in made]


def test_a_run_of_nan_is_one_page():
    (found,) = pages(curve_rows(not_a_number(healthy(1_500, seed=0), 800)))

    assert (found.kind, found.onset_step, found.seen_step) == ("nonfinite", 800, 801)
    assert (found.title, found.facts["value"]) == ("train/loss is NaN since step 800", "NaN")


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_one_such_loss_is_a_warning_that_closes(value):
    (found,) = findings(rows_with({200: {"loss": value}})).values()
    assert (found.severity, found.onset_step, found.closed_step) == ("warn", 200, 210)


def test_two_in_three_rows_page_even_in_the_first_rows():
    found = pages(rows_with({3: {"loss": NAN}, 5: {"loss": INF}}))
    assert [(f.onset_step, f.seen_step) for f in found] == [(3, 5)]


def test_isolated_gradients_without_a_number_are_information():
    found = findings(rows_with({step: {"grad_norm": INF} for step in (100, 200, 300)}))
    assert {f.severity for f in found.values()} == {"info"}
    assert len(found) == 3


def test_repeated_ones_page():
    (found,) = pages(rows_with({step: {"grad_norm": NAN} for step in (200, 202, 204)}))
    assert (found.series, found.onset_step, found.seen_step) == ("train/grad_norm", 200, 204)


def test_a_loss_scaler_that_finds_its_scale_at_the_start_does_not_page():
    assert pages(rows_with({step: {"grad_norm": INF} for step in range(8)})) == []


@pytest.mark.parametrize(
    ("loss", "grad_norm", "bad"),
    [
        (1.0, 0.5, False),
        (NAN, 0.5, True),
        (1.0, NAN, False),
        (0.0, NAN, True),
        (None, NAN, True),
        (None, None, False),
        (0.0, 0.1, False),
    ],
)
def test_a_step_without_a_usable_loss(loss, grad_norm, bad):
    assert bad_loss(loss, grad_norm) is bad


def test_facts_are_strict_json():
    found = findings(curve_rows(not_a_number(healthy(300, seed=0), 200)))
    numbers = [v for f in found.values() for v in f.facts.values() if isinstance(v, float)]
    assert all(map(math.isfinite, numbers))
