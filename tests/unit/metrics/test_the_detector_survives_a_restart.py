"""metrics.domain.spikes: its state is all it needs."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.metrics.domain.spikes import SpikeDetector
from tests.metric_samples import NAMES, curve_rows
from workers.benches.loss_curves import bad_batches, explosion, healthy, not_a_number

BASE = healthy(700, seed=4)
CURVES = [
    curve_rows(explosion(BASE, 500)),
    curve_rows(bad_batches(BASE, 300)),
    curve_rows(not_a_number(BASE, 600)),
]


def judged(rows, cuts):
    """Newest state of every finding when the process dies at each cut."""
    detector, found = SpikeDetector(), {}
    detector.start_attempt(0, dict(NAMES))
    for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        found |= {finding.key: finding for finding in detector.feed(rows[first:last])}
        detector = SpikeDetector.load(detector.dump())
    return found


@given(st.sampled_from(CURVES), st.lists(st.integers(0, 700), max_size=6).map(sorted))
@settings(max_examples=20, deadline=None)
def test_where_it_is_cut_does_not_matter(rows, cuts):
    assert judged(rows, cuts) == judged(rows, [])


def test_every_row_alone_gives_the_same():
    assert judged(CURVES[1], list(range(0, 700, 3))) == judged(CURVES[1], [])


def test_it_never_grows():
    detector = SpikeDetector()
    detector.feed(curve_rows(healthy(20_000, seed=1)))
    assert len(detector.dump()) < 16_000


def test_rows_below_the_last_one_are_counted_and_left_out():
    detector = SpikeDetector()
    detector.feed(CURVES[0][:100])
    before = detector.dump()
    detector.feed(CURVES[0][40:60])

    assert detector.state.late_rows == 20
    detector.state.late_rows = 0
    assert detector.dump() == before


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cannot be read"),
        (b"no", "cannot be read"),
        (msgspec.msgpack.encode({"version": 99}), "has version 99, not 2"),
    ],
)
def test_a_foreign_state_is_refused(data, says):
    with pytest.raises(AppError, match=says):
        SpikeDetector.load(data)
