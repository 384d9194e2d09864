"""logs.domain.pulse"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.clock import pulse
from apps.logs.domain.clock.pulse import BadPulse, PulseColumns, fold, merge, pack, unpack

LINE = st.tuples(
    st.integers(-2 * pulse.HOUR_NS, 2 * pulse.HOUR_NS),
    st.sampled_from(pulse.SEVERITIES),
    st.integers(-1, 3) | st.just(2**31 - 1),
    st.integers(-1, 5),
    st.booleans(),
)
LINES = st.lists(LINE, max_size=30)


def columns(lines):
    kinds = [np.int64] * 4 + [np.bool_]
    arrays = zip(*lines, strict=True) if lines else [()] * 5
    return PulseColumns(*(np.array(a, dtype=k) for a, k in zip(arrays, kinds, strict=True)))


def as_cells(hours):
    """Everything that blocks say, as plain dictionaries."""
    counts, worst, steps = {}, {}, {}
    for hour, block in hours.items():
        for plane, minute, level in np.argwhere(block.counts).tolist():
            key = (hour * 60 + minute, bool(plane), pulse.SEVERITIES[level])
            counts[key] = int(block.counts[plane, minute, level])
        for plane, at, minute in np.argwhere(block.worst).tolist():
            key = (hour * 60 + minute, bool(plane), int(block.ranks[at]))
            worst[key] = int(block.worst[plane, at, minute])
        for minute in np.nonzero(block.steps[1] >= 0)[0].tolist():
            steps[hour * 60 + minute] = tuple(block.steps[:, minute].tolist())
    return counts, worst, steps


def expected(lines):
    counts, worst, steps = {}, {}, {}
    for time_ns, severity, rank, step, copied in lines:
        minute = time_ns // pulse.MINUTE_NS
        key = (minute, copied, severity)
        counts[key] = counts.get(key, 0) + 1
        if rank >= 0:
            key = (minute, copied, rank)
            worst[key] = max(worst.get(key, 0), severity)
        if step >= 0:
            first, last = steps.get(minute, (step, step))
            steps[minute] = (min(first, step), max(last, step))
    return counts, worst, steps


@given(LINES)
def test_a_block_says_what_its_lines_say(lines):
    assert as_cells(fold(columns(lines))) == expected(lines)


@given(LINES, LINES)
def test_two_batches_merge_to_one(first, second):
    one, other = fold(columns(first)), fold(columns(second))
    both = one | other
    both |= {hour: merge(one[hour], other[hour]) for hour in one.keys() & other.keys()}
    assert as_cells(both) == expected(first + second)


@given(LINES)
def test_a_block_reads_back(lines):
    hours = fold(columns(lines))
    assert as_cells({hour: unpack(pack(block)) for hour, block in hours.items()}) == as_cells(hours)


@given(st.binary(max_size=80) | st.binary(max_size=40).map(lambda b: b"\x01" + b))
def test_foreign_bytes_raise_one_error(body):
    with pytest.raises(BadPulse, match="cannot be read"):
        unpack(body)


def test_ranks_beyond_the_cap_still_count_as_lines(monkeypatch):
    monkeypatch.setattr(pulse, "MAX_RANKS", 2)
    first = fold(columns([(0, 20, rank, -1, False) for rank in (9, 3, 5)]))[0]
    both = merge(first, fold(columns([(0, 40, 1, -1, False)]))[0])
    assert (first.ranks.tolist(), first.left_out, first.counts.sum()) == ([3, 5], 1, 3)
    assert (both.ranks.tolist(), both.left_out, both.counts.sum()) == ([1, 3], 2, 4)
