"""logs.domain.paging and cursor"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.chunk.chunks import decode_chunk, encode_chunk
from apps.logs.domain.query.conditions import LineFilter, matching
from apps.logs.domain.query.cursor import BadCursor, pack_cursor, unpack_cursor
from apps.logs.domain.query.paging import PageBuilder
from apps.logs.domain.reading.table import LineTable

ANY = LineFilter(hide_copies=False)
TIMES = st.integers(0, 12)
RANKS = st.none() | st.integers(0, 2)
CHUNK = st.lists(st.tuples(TIMES, RANKS), min_size=1, max_size=8)


def chunk(number, rows):
    """Lines of file `number`; seq counts."""
    count = len(rows)
    times, ranks = zip(*rows, strict=True)
    table = LineTable(
        f"file{number}",
        list(times),
        list(range(count)),
        ["stderr"] * count,
        [0] * count,
        list(ranks),
        [20] * count,
        [None] * count,
        ["x"] * count,
        [0] * count,
    )
    header, body = encode_chunk([table])
    return header, decode_chunk(body)


def read(chunks, limit, after, newest_first):
    """One page, as the store reads it."""
    builder = PageBuilder(limit, after, newest_first)
    side = "last" if newest_first else "first"
    ordered = sorted(chunks, key=lambda c: getattr(c[0], side)[0], reverse=newest_first)
    for header, body in ordered:
        builder.release(getattr(header, side)[0])
        builder.add(body, matching(body, ANY), (0, "n"))
    builder.release(None)
    return [found.key for found in builder.page]


def pages(chunks, limit, newest_first):
    """All pages, one after the other."""
    keys, page = [], read(chunks, limit, None, newest_first)
    while page:
        keys += page
        page = read(chunks, limit, page[-1], newest_first)
    return keys


FILES = st.lists(st.tuples(st.sampled_from("ba"), TIMES, RANKS), min_size=1, max_size=8)


def merged(rows):
    """One chunk with lines of the files "b" and "a", some of which differ by nothing else."""
    tables = []
    for name in "ba":
        mine = sorted({(at, rank) for file, at, rank in rows if file == name}, key=str)
        if mine:
            tables.append(
                LineTable(
                    name, [at for at, _ in mine], [0] * len(mine), ["stderr"] * len(mine),
                    [0] * len(mine), [rank for _, rank in mine], [20] * len(mine),
                    [None] * len(mine), ["x"] * len(mine), [0] * len(mine),
                )
            )  # fmt: skip
    header, body = encode_chunk(tables)
    return header, decode_chunk(body)


@given(st.lists(FILES, min_size=1, max_size=4), st.integers(1, 5), st.booleans())
def test_lines_that_differ_by_their_file_only_are_each_given_once(files, limit, newest_first):
    chunks = [merged(rows) for rows in files[:1]]
    expected = read(chunks, 1_000, None, newest_first)
    assert pages(chunks, limit, newest_first) == expected
    assert expected == sorted(set(expected), reverse=newest_first)


@given(st.lists(CHUNK, min_size=1, max_size=5), st.integers(1, 7), st.booleans())
def test_pages_together_are_all_lines_in_order(rows, limit, newest_first):
    chunks = [chunk(number, part) for number, part in enumerate(rows)]
    expected = sorted(
        (time, -1 if rank is None else rank, seq, f"file{number}|0|n")
        for number, part in enumerate(rows)
        for seq, (time, rank) in enumerate(part)
    )
    assert pages(chunks, limit, newest_first) == (expected[::-1] if newest_first else expected)


def test_a_cursor_comes_back():
    key = (-5, -1, 2**62, "job/ä")
    assert unpack_cursor(pack_cursor(key)) == key


@pytest.mark.parametrize("text", ["", "x", "AAAA", "WzEsMiwzXQ", pack_cursor((2**63, 0, 0, ""))])
def test_a_foreign_cursor_is_refused(text):
    with pytest.raises(BadCursor, match="cursor"):
        unpack_cursor(text)
