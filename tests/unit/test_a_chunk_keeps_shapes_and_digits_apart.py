"""logs.domain.chunks, chunktexts, intcolumns, shapes, columns and oldchunks"""

import contextlib
import json
import struct

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import LogLine
from apps.logs.domain.chunk.chunks import BadChunk, decode_chunk, encode_chunk
from apps.logs.domain.chunk.intcolumns import pack_ints, unpack_ints
from apps.logs.domain.reading.columns import LineColumns, joined
from apps.logs.domain.reading.shapes import digits_of, filled, shaped
from apps.logs.domain.reading.table import LineTable

I64 = st.integers(-(2**63), 2**63 - 1)
WORDS = st.sampled_from(["step 7", "step 12", "step 0", "loss: 1.25", "", "0", "é 5", "\u2400"])
# Few forms and many lines, so that shapes have many lines and few.
TEXTS = st.lists(st.lists(WORDS, max_size=3).map(" ".join) | st.text(), min_size=1, max_size=60)


def table(texts, source="a.log", originals=None):
    n = len(texts)
    seq = [10 * number for number in range(n)]
    return LineTable(
        source, seq, seq, ["stderr"] * n, [0] * n, [3] * n, [20] * n, [None] * n, list(texts),
        [0] * n, originals or {},
    )  # fmt: skip


def chunk_of(*tables):
    return decode_chunk(encode_chunk(tables)[1])


@given(st.binary())
def test_a_line_is_its_shape_and_its_digits(data):
    assert filled(shaped(data), digits_of(data)) == data
    assert len(shaped(data)) == len(data)


@given(TEXTS)
def test_texts_come_back_one_by_one_and_as_a_whole(texts):
    chunk = chunk_of(table(texts))
    raw = [text.encode("utf-8", "replace") for text in texts]
    assert [chunk.lines_text.raw(n) for n in range(len(chunk))] == raw
    assert chunk.texts == b"".join(raw)
    assert chunk.text_start.tolist() == np.cumsum([0, *map(len, raw)]).tolist()


@given(TEXTS, WORDS | st.sampled_from(["p 1", "1", "12", "2 s", "loss", "x x"]))
def test_a_needle_is_found_where_it_is(texts, needle):
    found = chunk_of(table(texts)).containing(needle.encode())
    assert found.tolist() == [needle in text for text in texts]


def test_a_needle_of_digits_is_found_among_many_lines():
    texts = [f"step {number} of 500" for number in range(300)]
    assert np.flatnonzero(chunk_of(table(texts)).containing(b"p 17")).tolist() == [
        17, *range(170, 180)
    ]  # fmt: skip


@given(TEXTS, TEXTS, st.data())
def test_lines_of_tables_are_joined_cut_and_picked(one, other, data):
    whole = joined([LineColumns.of(table(one, "a")), LineColumns.of(table(other, "b"))])
    lines = [*table(one, "a"), *table(other, "b")]
    assert list(whole) == lines
    start = data.draw(st.integers(0, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    assert list(whole.piece(start, end)) == lines[start:end]
    picked = data.draw(st.lists(st.sampled_from(range(len(lines))), max_size=9))
    assert list(whole.select(picked)) == [lines[number] for number in picked]


def test_bytes_that_the_text_does_not_show_are_kept():
    lines = LineColumns.of(table(["a", "b", "c"], originals={1: b"\x1b[31mb\r"}))
    chunk = decode_chunk(encode_chunk([lines.piece(1, 3)])[1])
    assert [chunk.original(number) for number in range(2)] == [b"\x1b[31mb\r", b"c"]
    assert lines.select([2, 1]).originals == {1: b"\x1b[31mb\r"}


@given(st.lists(I64) | st.lists(st.sampled_from([-1, 7]), max_size=99))
def test_integers_come_back(values):
    packed = pack_ints(np.array(values, dtype=np.int64))
    found, pos = unpack_ints(packed, 0, len(values))
    assert found.tolist() == values
    assert pos == len(packed)


@given(st.data())
def test_damage_is_told_when_a_text_is_read(data):
    texts = [f"step {number} é" for number in range(40)] + ["x"]
    body = bytearray(encode_chunk([table(texts, originals={0: b"\xff"})])[1])
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(BadChunk):
        chunk = decode_chunk(bytes(body))
        for number in range(len(chunk)):
            chunk.text(number)
            chunk.original(number)
        assert len(chunk.texts) == chunk.text_start[-1]


def test_chunks_of_version_1_are_read():
    texts = ["step 1", "", "é2"]
    raw = [text.encode() for text in texts]
    origins = json.dumps([["a.log", "stderr", 0]]).encode()
    columns = [
        ("<i8", [100, 1, 1]),
        ("<i8", [5, 0, 0]),
        ("<u2", [0, 0, 0]),
        ("<i4", [3, -1, 3]),
        ("u1", [20, 40, 20]),
        ("<i8", [1, -1, -1]),
        ("<u4", [len(text) for text in raw]),
    ]
    packed = [np.array(values, dtype=kind).tobytes() for kind, values in columns]
    payload = struct.pack("<I", len(origins)) + origins + struct.pack("<I", 3)
    payload += b"".join((*packed, *raw))
    head = struct.pack("<2sBBI", b"LC", 1, 0, len(payload))
    chunk = decode_chunk(head + zstandard.compress(payload))
    assert [chunk.line(number) for number in range(3)] == [
        LogLine(100, 5, "a.log", "stderr", 0, 3, 20, 1, "step 1"),
        LogLine(101, 12, "a.log", "stderr", 0, None, 40, None, ""),
        LogLine(102, 13, "a.log", "stderr", 0, 3, 20, None, "é2"),
    ]
    assert chunk.original(2) == raw[2]
    assert chunk.containing(b"step").tolist() == [True, False, False]


def test_a_column_that_does_not_fit_is_refused():
    packed = pack_ints(np.array([1, 2, 3], dtype=np.int64))
    with pytest.raises(ValueError, match="not 4"):
        unpack_ints(packed, 0, 4)
