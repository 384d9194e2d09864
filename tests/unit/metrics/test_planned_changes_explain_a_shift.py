"""metrics.domain.explain and context, through the detector."""

from dataclasses import replace

import numpy as np
import pytest

from apps.metrics.domain.planned import PlannedChange
from apps.metrics.domain.spikes import SpikeDetector
from tests.metric_samples import NAMES, curve_rows
from workers.benches.loss_curves import explosion, healthy, level_shift, not_a_number

ROWS, AT = 900, 500


def told(rows, planned=()):
    """Newest state of every finding."""
    detector = SpikeDetector(planned=planned)
    detector.start_attempt(0, dict(NAMES))
    return {finding.key: finding for finding in detector.feed(rows)}.values()


def scaled(factor, at=AT, grads=1.0):
    """A healthy run whose loss is `factor` times as large from a row on, and its gradient norm."""
    curve = healthy(ROWS, seed=3, outliers=False)
    curve.loss[at:] *= factor
    curve.grad_norm[at:] *= grads
    return curve_rows(curve)


def with_series(rows, **series):
    """series: name -> (before, after) the row AT."""
    return [
        replace(row, **{name: pair[row.step >= AT] for name, pair in series.items()})
        for row in rows
    ]


@pytest.mark.parametrize(
    ("factor", "series", "text"),
    [
        (2.0, {"batch_size": (256, 512)}, "batch size 256 -> 512"),
        (4.0, {"sequence_length": (2_048, 8_192)}, "sequence length 2048 -> 8192"),
        (1.2, {"sequence_length": (2_048, 4_096)}, "sequence length 2048 -> 4096"),
        (1.5, {"data_mixture": (0, 1)}, "data mixture 0 -> 1"),
    ],
)
def test_a_logged_change_makes_a_shift_information(factor, series, text):
    (found,) = told(with_series(scaled(factor), **series))

    assert (found.kind, found.severity, found.onset_step) == ("level_shift", "info", AT)
    assert found.facts["planned"] == text
    assert found.facts["planned_source"] == "logged"
    assert text in found.title
    assert found.closed_step is not None


def test_a_change_of_the_pace_of_tokens_explains_a_summed_loss():
    rows = scaled(2.0)
    rows = [replace(r, tokens_seen=1e4 * (r.step + max(0, r.step + 1 - AT))) for r in rows]
    (found,) = told(rows)
    assert (found.severity, found.facts["planned"]) == ("info", "tokens per step 10000 -> 20000")


def test_a_smaller_batch_makes_no_loss_that_is_too_good():
    (found,) = told(with_series(scaled(0.25), batch_size=(1_024, 256)))
    assert (found.kind, found.severity) == ("level_shift", "info")


def test_an_explosion_behind_a_wanted_change_pages_all_the_same():
    rows = with_series(curve_rows(explosion(healthy(ROWS, seed=3), AT)), batch_size=(256, 320))
    (found,) = [finding for finding in told(rows) if finding.page]
    assert (found.kind, found.facts.get("planned")) == ("explosion", None)


def test_trouble_right_behind_a_wanted_shift_is_seen():
    rows = scaled(2.0)
    spoilt = [replace(r, loss=3 * r.loss) if r.step >= AT + 20 else r for r in rows]
    found = [f for f in told(with_series(spoilt, batch_size=(256, 512))) if f.page]
    assert [(f.kind, f.onset_step) for f in found] == [("explosion", AT + 20)]


def test_a_learning_rate_that_returns_to_its_peak_explains_a_bulge():
    curve = healthy(ROWS, seed=3, outliers=False)
    curve.lr[:] = 3e-4 * 0.99 ** (np.arange(ROWS) % AT)
    curve.loss[AT : AT + 80] *= 1.25
    (found,) = told(curve_rows(curve))
    assert found.severity == "info"
    assert found.facts["planned"].startswith("learning rate ")


@pytest.mark.parametrize("source", ["person", "config"])
def test_what_somebody_said_before_makes_a_shift_information(source):
    plan = PlannedChange("data", AT - 10, None, "code joins the mix", source)
    rows = curve_rows(level_shift(healthy(ROWS, seed=3, outliers=False), AT))
    found = [f for f in told(rows, (plan,)) if f.kind == "level_shift"]

    assert [(f.severity, f.facts["planned_source"]) for f in found] == [("info", source)]
    assert "code joins the mix" in found[0].title


def test_no_plan_explains_losses_that_are_no_numbers():
    plan = PlannedChange("other", 0, ROWS, "anything", "person")
    found = told(curve_rows(not_a_number(healthy(ROWS, seed=3), AT)), (plan,))
    assert [f.kind for f in found if f.page] == ["nonfinite"]


def test_a_sum_that_nobody_logged_the_batch_of_is_a_warning_with_its_guess():
    (found,) = told(scaled(2.0, grads=2**0.6))
    assert (found.kind, found.severity) == ("level_shift", "warn")
    assert "2 times what it was" in found.facts["guess"]


def test_the_same_jump_with_a_wild_gradient_pages():
    assert [f.kind for f in told(scaled(2.0, grads=9.0)) if f.page]


def test_the_same_jump_without_a_gradient_norm_pages():
    rows = [replace(row, grad_norm=None) for row in scaled(4.0)]
    assert [f.kind for f in told(rows) if f.page] == ["explosion"]


def test_a_bulge_in_warm_up_is_silent_and_an_explosion_in_it_pages():
    curve = healthy(400, seed=5, outliers=False)
    curve.lr[:] = 1e-6 * np.arange(1, 401)
    bulge = np.exp(-(((np.arange(400) - 150) / 25) ** 2))
    exploded = replace(curve, loss=curve.loss * (1 + 1.8 * (np.arange(400) >= 150)))
    humped = replace(curve, loss=curve.loss * (1 + 0.25 * bulge))

    assert [f for f in told(curve_rows(humped)) if f.page] == []
    assert [f.kind for f in told(curve_rows(exploded)) if f.page] == ["explosion"]


def test_a_smaller_sum_that_nobody_logged_the_batch_of_is_a_warning():
    (found,) = told(scaled(0.25, grads=0.3))
    assert (found.kind, found.severity) == ("level_shift", "warn")


@pytest.mark.parametrize("series", ["data_mixture", "sequence_length"])
def test_a_curriculum_without_stages_explains_a_slow_rise(series):
    curve = healthy(1_200, seed=3, outliers=False)
    ramp = np.clip((np.arange(1_200) - 500) / 500, 0, 1)
    curve.loss[:] *= 1 + 0.3 * ramp
    rows = curve_rows(curve)
    silent = [replace(r, **{series: 100 + 400 * ramp[r.step]}) for r in rows]

    assert [f.kind for f in told(rows) if f.page] == ["slow_divergence"]
    (found,) = told(silent)
    assert (found.kind, found.severity) == ("slow_divergence", "info")
    assert found.facts["planned"].startswith(series.replace("_", " "))
