"""metrics.domain.blocks: round trips."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from apps.metrics.domain.blocks import (
    Axis,
    Cells,
    decode_axis,
    decode_cells,
    encode_axis,
    encode_cells,
    read_stats,
)

SHAPES = arrays.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9)
BITS = arrays.arrays(np.uint64, SHAPES, elements=st.integers(0, 2**64 - 1))
SINGLES = arrays.arrays(np.float32, SHAPES, elements=st.floats(width=32))
INT64 = st.integers(-(2**63), 2**63 - 1)
AXIS_ROWS = st.lists(st.tuples(INT64, INT64, st.integers(-(2**31), 2**31 - 1)), max_size=30)


def bits(values):
    return np.ascontiguousarray(values).view(np.uint64).tolist()


@given(BITS)
def test_any_64_bits_come_back(matrix):
    values = matrix.view(np.float64)
    assert bits(decode_cells(encode_cells(Cells(values))).values) == bits(values)


@given(SINGLES)
def test_float32_values_come_back(matrix):
    values = matrix.astype(np.float64)
    assert bits(decode_cells(encode_cells(Cells(values))).values) == bits(values)


@given(st.data(), BITS)
def test_absent_cells_stay_absent_and_others_come_back(data, matrix):
    present = data.draw(arrays.arrays(np.bool_, matrix.shape))
    found = decode_cells(encode_cells(Cells(matrix.view(np.float64), present)))

    there = np.ones(matrix.shape, dtype=bool) if found.present is None else found.present
    assert there.tolist() == present.tolist()
    assert found.values.view(np.uint64)[present].tolist() == matrix[present].tolist()


@given(st.data(), BITS)
def test_wanted_columns_are_those_of_the_whole(data, matrix):
    present = data.draw(arrays.arrays(np.bool_, matrix.shape))
    columns = st.integers(0, max(0, matrix.shape[1] - 1))
    wanted = data.draw(st.lists(columns, max_size=4 if matrix.shape[1] else 0))
    block = encode_cells(Cells(matrix.view(np.float64), present))

    assert bits(decode_cells(block, wanted).values) == bits(decode_cells(block).values[:, wanted])


@given(AXIS_ROWS, st.booleans())
def test_steps_times_and_ranks_come_back(rows, ranked):
    step, time_ns, rank = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(3))
    axis = Axis(step, time_ns, rank.astype(np.int32) if ranked else None)
    found = decode_axis(encode_axis(axis))

    assert (found.step.tolist(), found.time_ns.tolist()) == (step.tolist(), time_ns.tolist())
    assert (found.rank is not None and found.rank.tolist() == rank.tolist()) is ranked


def test_nan_payloads_and_signed_zeros_are_kept():
    odd = np.frombuffer(
        struct.pack("<4Q", 0x7FF8DEADBEEF0001, 0xFFF0000000000001, 1 << 63, 0x7FF0000000000000),
        dtype=np.float64,
    ).reshape(4, 1)
    assert bits(decode_cells(encode_cells(Cells(odd))).values) == bits(odd)


def test_the_header_answers_without_decoding():
    values = np.array([[1.0, np.nan], [np.inf, -4.0], [-np.inf, 1e308]])
    present = np.array([[True, True], [True, True], [True, False]])
    found = read_stats(encode_cells(Cells(values, present)))

    assert (found.points, found.nan, found.posinf, found.neginf) == (5, 1, 1, 1)
    assert (found.minimum, found.maximum, found.nonfinite) == (-4.0, 1.0, 3)


@pytest.mark.parametrize(("points", "most_bytes"), [(1_000, 4.2), (10_000, 4.0)])
def test_float32_noise_takes_about_its_entropy(points, most_bytes):
    noise = np.random.default_rng(0).normal(2.5, 0.05, (points, 1)).astype(np.float32)
    steps = np.arange(points, dtype=np.int64)
    size = len(encode_cells(Cells(noise.astype(np.float64)))) + len(encode_axis(Axis(steps, steps)))

    assert size / points < most_bytes
