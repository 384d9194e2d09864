"""metrics.domain.excursions: the position in the data goes with an excursion."""

from dataclasses import replace

import pytest

from tests.metric_samples import curve_rows, findings
from workers.benches.loss_curves import healthy


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        ({"tokens_seen": 4e9, "samples_seen": 1e6, "epoch": 1.5},
         {"tokens": 4e9, "samples": 1e6, "epoch": 1.5}),
        ({"tokens_seen": float("nan")}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_one_row_is_information_with_its_position(fields, known):
    rows = curve_rows(healthy(600, seed=1, outliers=False))
    rows[500] = replace(rows[500], loss=2 * rows[500].loss, **fields)
    (found,) = findings(rows).values()

    assert (found.kind, found.severity, found.onset_step) == ("outlier", "info", 500)
    assert found.facts["data_position"] == known
