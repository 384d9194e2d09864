"""logs.domain.timeline"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.clock import pulse
from apps.logs.domain.clock.pulse import PulseColumns, fold, pack, unpack_all
from apps.logs.domain.clock.timeline import (
    NodeHours,
    axis_of,
    matrix_of,
    pulse_of,
    span_ns,
    step_span_ns,
)

M = pulse.MINUTE_NS
LINE = st.tuples(
    st.integers(-90, 150),
    st.sampled_from(pulse.SEVERITIES),
    st.integers(-1, 4),
    st.integers(-1, 9),
    st.booleans(),
)
NODES = st.dictionaries(
    st.sampled_from(["", "a", "b"]),
    st.tuples(st.lists(LINE, min_size=1, max_size=12), st.booleans()),
    max_size=3,
)


def blocks_of(nodes):
    """All hours of all nodes, as the store reads them."""
    rows = []
    for node, (lines, copies) in nodes.items():
        minute, severity, rank, step, copied = (np.array(c) for c in zip(*lines, strict=True))
        hours = fold(PulseColumns(minute * M + 7, severity, rank, step, copied))
        rows += [(node, hour, pack(block), copies) for hour, block in hours.items()]
    return [
        NodeHours(
            [rows[at][0] for at in stack.numbers],
            np.array([rows[at][1] for at in stack.numbers]),
            np.array([rows[at][3] for at in stack.numbers]),
            stack,
        )
        for stack in unpack_all([row[2] for row in rows])
    ]


def shown(nodes):
    return [
        (node, *line[:4])
        for node, (lines, copies) in nodes.items()
        for line in lines
        if copies or not line[4]
    ]


@given(NODES, st.integers(-95, 150), st.integers(0, 200), st.integers(1, 9))
def test_buckets_count_lines_and_keep_the_worst(nodes, first, minutes, buckets):
    axis = axis_of(first * M, (first + minutes) * M, buckets)
    assert axis.buckets <= buckets
    assert axis.edges_ns[0] <= first * M and axis.edges_ns[-1] > (first + minutes) * M
    counts, worst = {}, {}
    for node, minute, severity, rank, _ in shown(nodes):
        at = int(np.searchsorted(axis.edges_ns, minute * M, side="right")) - 1
        if 0 <= at < axis.buckets:
            key = (node, at, severity)
            counts[key] = counts.get(key, 0) + 1
            if rank >= 0:
                worst[rank, at] = max(worst.get((rank, at), 0), severity)
    found = pulse_of(blocks_of(nodes), axis)
    assert counts == {
        (node, at, pulse.SEVERITIES[level]): int(table[at, level])
        for node, table in found.nodes.items()
        for at, level in np.argwhere(table).tolist()
    }
    assert found.counts.sum() == sum(counts.values())
    matrix = matrix_of(blocks_of(nodes), axis)
    assert matrix.ranks.tolist() == sorted({rank for rank, _ in worst})
    assert worst == {
        (int(matrix.ranks[row]), at): int(matrix.worst[row, at])
        for row, at in np.argwhere(matrix.worst).tolist()
    }


@given(NODES)
def test_a_run_lasts_from_its_first_minute_to_its_last(nodes):
    minutes = [minute for _, minute, *_ in shown(nodes)]
    expected = (min(minutes) * M, (max(minutes) + 1) * M - 1) if minutes else None
    assert span_ns(blocks_of(nodes)) == expected


@given(NODES, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))
def test_steps_last_from_the_first_minute_that_names_them(nodes, first, last):
    named = [
        (minute, step)
        for lines, _ in nodes.values()
        for minute, _, _, step, _ in lines
        if step >= 0
    ]
    starts = [minute for minute, step in named if step >= (first or 0)]
    ends = [minute for minute, step in named if last is None or step <= last]
    expected = None
    if starts and ends and max(ends) >= min(starts):
        expected = (min(starts) * M, (max(ends) + 1) * M - 1)
    assert step_span_ns(blocks_of(nodes), first, last) == expected
