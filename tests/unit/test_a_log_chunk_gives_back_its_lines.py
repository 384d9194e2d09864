"""logs.domain.chunks"""

import contextlib
import struct

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.chunk.chunks import MAX_PAYLOAD_BYTES, BadChunk, decode_chunk, encode_chunk
from apps.logs.domain.reading.table import LineTable
from tests.log_samples import console, parse

I64 = st.integers(-(2**63), 2**63 - 1)
STEP = st.none() | st.integers(0, 2**63 - 1)
RANK = st.none() | st.integers(0, 2**31 - 1)
SEVERITY = st.sampled_from([10, 20, 30, 40, 50])
ROW = st.tuples(I64, I64, st.sampled_from(["stderr", "tee"]), RANK, RANK, SEVERITY, STEP, st.text())


def table(source, rows):
    columns = [list(column) for column in zip(*rows, strict=True)]
    return LineTable(source, *columns, message_at=[0] * len(rows))


TABLE = st.builds(table, st.text(max_size=9), st.lists(ROW, min_size=1, max_size=20))


@given(st.lists(TABLE, min_size=1, max_size=4))
def test_lines_of_several_files_come_back_unchanged(tables):
    header, body = encode_chunk(tables)
    chunk = decode_chunk(body)
    lines = [line for one in tables for line in one]
    keys = [(x.time_ns, -1 if x.rank is None else x.rank, x.seq) for x in lines]
    assert [chunk.line(i) for i in range(len(chunk))] == lines
    assert (header.first, header.last) == (min(keys), max(keys))
    assert sum(header.by_severity) == header.lines == len(lines)
    assert header.ranks == tuple(sorted({key[1] for key in keys}))


@given(st.binary(max_size=200))
def test_foreign_bytes_raise_only_bad_chunk(data):
    with pytest.raises(BadChunk):
        decode_chunk(b"LC\x01\x00" + data)


@given(st.data())
def test_a_damaged_chunk_raises_only_bad_chunk_or_reads(data):
    body = bytearray(encode_chunk([parse("a\nb\nerror: c\n").lines])[1])
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(BadChunk):
        assert len(decode_chunk(bytes(body))) >= 1


def framed(payload, length=None):
    head = struct.pack("<2sBBI", b"LC", 1, 0, len(payload) if length is None else length)
    return head + zstandard.compress(payload)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"LC\x03\x00\x00\x00\x00\x00", "version 3"),
        (b"XX\x01\x00\x00\x00\x00\x00", "magic"),
        (framed(b"", MAX_PAYLOAD_BYTES + 1), "the cap is"),
        (framed(b"x" * 50, 10), "its header says 10"),
        (framed(struct.pack("<I", 2) + b"[]" + struct.pack("<I", 2**31)), "lines, the cap is"),
        (framed(struct.pack("<I", 2) + b"[]" + struct.pack("<I", 9)), "cannot be read"),
    ],
)
def test_the_message_says_what_is_wrong(body, message):
    with pytest.raises(BadChunk, match=message):
        decode_chunk(body)


def test_texts_are_searched_without_decoding_each():
    chunk = decode_chunk(encode_chunk([parse("needle\nnee\ndle\nx needle y needle\n").lines])[1])
    assert chunk.containing(b"needle").tolist() == [True, False, False, True]


def test_a_match_over_two_lines_is_none():
    chunk = decode_chunk(encode_chunk([parse("abc\nabd\nab\n").lines])[1])
    assert chunk.containing(b"cab").tolist() == [False, False, False]


def test_console_copies_keep_their_local_ranks():
    lines = console("[default1]:a\nb\n[default0]:c\n").lines
    chunk = decode_chunk(encode_chunk([lines])[1])
    assert [(chunk.line(i).channel, chunk.line(i).local_rank) for i in range(3)] == [
        ("tee", 1),
        ("console", None),
        ("tee", 0),
    ]


def test_an_empty_chunk_cannot_be_made():
    with pytest.raises(ValueError, match="1 to"):
        encode_chunk([])
