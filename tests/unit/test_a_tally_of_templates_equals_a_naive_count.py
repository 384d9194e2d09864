"""logs.domain.tally and rankbits"""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.pattern import rankbits
from apps.logs.domain.pattern.tally import (
    MAX_HOURS,
    NEVER,
    NS_HOUR,
    Columns,
    bounded,
    fold,
    most_frequent,
    tally,
)
from apps.logs.domain.pattern.tallyblock import BadTally, decode_tally, encode_tally
from apps.logs.domain.pattern.templates import OTHER

T0 = 498_885 * NS_HOUR
LINES = st.lists(
    st.tuples(
        st.sampled_from([OTHER, 5, 2**62 + 1]),
        st.integers(-1, 20),
        st.integers(T0, T0 + 2 * NS_HOUR) | st.sampled_from([T0, T0 + NS_HOUR]),
        st.sampled_from([10, 20, 40]),
        st.integers(0, 3),
    ),
    max_size=30,
)


def columns(lines):
    return Columns(*np.array(lines, dtype=np.int64).reshape(-1, 5).T)


def naive(lines):
    """(template, hour) -> what a row says, counted one line at a time."""
    groups = defaultdict(list)
    for template, rank, time_ns, severity, seq in lines:
        groups[template, time_ns // NS_HOUR].append((time_ns, rank, seq, severity))
    rows = {}
    for key, members in groups.items():
        first = min(members)
        later = [(t, r) for t, r, *_ in members if r != first[1]]
        rows[key] = (
            len(members),
            sum(r < 0 for _, r, *_ in members),
            first[:3],
            min(later, default=(None, None)),
            max(members)[0],
            max(m[3] for m in members),
            {r for _, r, *_ in members if r >= 0},
        )
    return rows


def counted(lines, node=""):
    return tally(columns(lines), node)[0]


def said(one):
    """The rows of a tally in the form of naive()."""
    rows = {}
    for row in one.rows:
        ranks = one.sets[row["ranks"]]
        next_one = (int(row["next_ns"]), int(row["next_rank"]))
        key = (int(row["template"]), int(row["hour"]))
        assert key not in rows
        rows[key] = (
            int(row["lines"]),
            int(row["unranked"]),
            (int(row["first_ns"]), int(row["first_rank"]), int(row["first_seq"])),
            (None, None) if next_one == (NEVER, -1) else next_one,
            int(row["last_ns"]),
            int(row["worst"]),
            {rank for rank in range(ranks.bit_length()) if ranks >> rank & 1},
        )
    return rows


@given(LINES)
def test_rows_say_what_counting_line_by_line_says(lines):
    assert said(counted(lines)) == naive(lines)


@given(LINES)
def test_the_line_of_a_row_is_its_first(lines):
    one, first = tally(columns(lines))
    for row, number in zip(one.rows, first.tolist(), strict=True):
        template, rank, time_ns, _, seq = lines[number]
        place = (row["template"], row["first_ns"], row["first_rank"], row["first_seq"])
        assert place == (template, time_ns, rank, seq)


@given(st.lists(LINES, max_size=4), st.randoms())
def test_batches_add_up_in_any_order_and_grouping(batches, random):
    parts = [counted(lines) for lines in batches]
    random.shuffle(parts)
    middle = len(parts) // 2
    added = fold([fold(parts[:middle]), fold(parts[middle:])])
    assert said(added) == naive([line for lines in batches for line in lines])


@given(st.lists(LINES, max_size=3))
def test_without_hours_a_template_has_one_row(batches):
    lines = [line for part in batches for line in part]
    whole = fold([counted(part) for part in batches], whole=True)
    one_hour = [(template, rank, T0, sev, seq) for template, rank, _, sev, seq in lines]
    expected = {key[0]: row for key, row in naive(one_hour).items()}
    rows = {key[0]: row for key, row in said(whole).items()}
    assert len(rows) == len(whole)
    assert {t: (r[0], r[1], r[5], r[6]) for t, r in rows.items()} == {
        t: (r[0], r[1], r[5], r[6]) for t, r in expected.items()
    }
    assert {r[2][0] for r in rows.values()} == {
        min(line[2] for line in lines if line[0] == template) for template in rows
    }


@given(LINES, st.integers(0, 3))
def test_what_does_not_fit_is_counted_as_other(lines, most):
    one = counted(lines)
    kept = most_frequent(one, most)
    left = bounded(one, kept)
    assert len(kept) <= most
    others = [(t if t in kept else OTHER, *rest) for t, *rest in lines]
    assert said(left) == naive(others)


def test_a_sender_with_mad_clocks_makes_a_bounded_number_of_rows():
    rows = counted([(5, 0, hour * NS_HOUR, 20, 0) for hour in range(1_000)]).rows
    assert (len(rows), rows["lines"].sum(), rows["first_ns"][0]) == (MAX_HOURS, 1_000, 0)


def test_a_node_is_that_of_the_first_line():
    late = counted([(5, 0, T0 + 9, 20, 0)], "gpu-a01")
    early = counted([(5, 1, T0, 20, 0)], "gpu-b02")
    both = fold([late, early])
    assert both.nodes[both.rows["node"][0]] == "gpu-b02"


@given(LINES)
def test_a_stored_tally_comes_back(lines):
    one = fold([counted(lines, "gpu-a01"), counted(lines, "é")])
    back = decode_tally(encode_tally(one))
    assert (said(back), back.nodes) == (said(one), one.nodes)


@given(LINES.filter(bool), st.data())
def test_damaged_bytes_are_refused_or_read_and_nothing_else(lines, data):
    body = bytearray(encode_tally(counted(lines)))
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        decode_tally(bytes(body))
    except BadTally as error:
        assert "counts of templates" in str(error)


def test_bytes_of_a_newer_version_say_so():
    body = encode_tally(counted([(5, 0, T0, 20, 0)]))
    with pytest.raises(BadTally, match="version 9"):
        decode_tally(body[:2] + b"\x09" + body[3:])


def test_many_templates_of_many_ranks_take_no_square_of_room():
    lines = [(n + 1, n * 8_000, T0, 20, 0) for n in range(15)]
    assert said(counted(lines)) == naive(lines)


def test_a_rank_beyond_every_cluster_takes_no_room():
    one = counted([(5, 2_000_000_000, T0, 20, 0)])
    assert (one.sets, one.rows["first_rank"][0]) == ((0,), 2_000_000_000)


@given(st.sets(st.integers(0, 200)))
def test_a_set_of_ranks_comes_back(ranks):
    bits = sum(1 << rank for rank in ranks)
    assert rankbits.unpack(rankbits.pack(bits)) == bits
    spans, complete = rankbits.spans_of(bits, 1_000)
    assert complete
    assert [r for first, last in spans for r in range(first, last + 1)] == sorted(ranks)
    assert rankbits.bits_between(spans) == bits


def test_of_many_spans_the_first_are_shown():
    assert rankbits.spans_of(0b1011, 1) == (((0, 1),), False)
