"""metrics.domain.tiers: incremental and deterministic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain import tiers
from apps.metrics.domain.blocks import BlockError, decode_cells, encode_cells

VALUES = st.one_of(
    st.floats(-1e9, 1e9), st.sampled_from([float("nan"), float("inf"), float("-inf")])
)
POINTS = st.lists(st.tuples(st.integers(-100, 5_000), VALUES), min_size=1, max_size=60)


def build(points, level):
    step = np.array([p[0] for p in points], dtype=np.int64)
    value = np.array([p[1] for p in points])
    return tiers.from_points(step, step * 10, value, level)


def as_text(buckets):
    return repr([getattr(buckets, name).tolist() for name in buckets.__slots__[1:]])


@given(POINTS, st.data(), st.integers(0, 8))
def test_two_parts_merge_to_the_whole(points, data, level):
    cut = data.draw(st.integers(0, len(points)))
    first, second = points[:cut], points[cut:]
    merged = (
        tiers.merge(build(first, level), build(second, level))
        if first and second
        else build(first or second, level)
    )
    assert as_text(merged) == as_text(build(points, level))


@given(POINTS, st.integers(0, 5), st.integers(0, 5))
def test_coarser_buckets_can_be_made_from_finer_ones(points, level, more):
    finer = build(points, level)
    assert as_text(tiers.regroup(finer, level + more)) == as_text(build(points, level + more))


@given(POINTS, st.integers(0, 8))
def test_a_stored_chunk_comes_back(points, level):
    buckets = build(points, level)
    assert as_text(tiers.decode(*tiers.encode(buckets), level)) == as_text(buckets)


@given(POINTS, st.integers(0, 4))
def test_nothing_is_lost_in_the_counts(points, level):
    assert build(points, level).points() == len(points)


def test_a_bucket_says_what_is_in_it():
    nan, inf = float("nan"), float("inf")
    found = build([(64, 3.0), (65, nan), (66, -2.0), (67, inf), (128, nan)], 6)

    assert found.step.tolist() == [66, 128]
    assert (found.minimum[0], found.maximum[0], found.last[0]) == (-2.0, 3.0, -2.0)
    assert (found.count.tolist(), found.nan.tolist(), found.posinf.tolist()) == (
        [2, 0], [1, 1], [1, 0],
    )  # fmt: skip
    assert np.isnan(found.last[1])


def test_of_a_repeated_step_the_later_arrival_is_last():
    assert build([(7, 1.0), (7, 2.0), (6, 9.0)], 3).last.tolist() == [2.0]


def test_chunks_hold_1024_aligned_buckets():
    found = tiers.split(build([(0, 1.0), (65_535, 2.0), (65_536, 3.0)], 6))
    assert {chunk: len(part) for chunk, part in found.items()} == {0: 2, 1: 1}
    assert [tiers.chunk_of(step, 6) for step in (0, 65_535, 65_536)] == [0, 0, 1]


def test_a_chunk_of_another_shape_is_refused():
    axis, cells = tiers.encode(build([(1, 1.0), (2, 2.0)], 0))
    narrow = encode_cells(decode_cells(cells, [0, 1]))
    with pytest.raises(BlockError, match="has the shape"):
        tiers.decode(axis, narrow, 0)
