"""metrics.domain.blocks: whatever the bytes are, only BlockError comes out."""

import struct
import zlib

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain.blocks import (
    Axis,
    BlockError,
    Cells,
    decode_axis,
    decode_cells,
    encode_axis,
    encode_cells,
    read_stats,
)

AXIS = encode_axis(Axis(np.arange(9) ** 9, np.arange(9) ** 9))
CELLS = encode_cells(Cells(np.arange(10.0).reshape(5, 2)))


def forged(magic, *, rows=1, columns=1, points=1, body=b"", flags=0, version=1):
    """A block with a right checksum and a header that may lie."""
    stats = struct.pack("<IIIIdd", points, 0, 0, 0, 0.0, 0.0) if magic == b"LGce" else b""
    rest = stats + zstandard.compress(body)
    head = struct.pack("<4sBBHIII", magic, version, flags, 0, rows, columns, 0)
    return head[:-4] + struct.pack("<I", zlib.crc32(head + rest)) + rest


@given(st.binary(max_size=200))
@pytest.mark.parametrize("decode", [decode_axis, decode_cells, read_stats])
def test_garbage(decode, data):
    with pytest.raises(BlockError):
        decode(data)


@given(st.integers(0, len(CELLS) - 1), st.integers(1, 255))
def test_a_flipped_byte(at, flip):
    damaged = bytearray(CELLS)
    damaged[at] ^= flip
    with pytest.raises(BlockError):
        decode_cells(bytes(damaged))


@pytest.mark.parametrize(
    ("block", "says"),
    [
        (CELLS[:30], "too few for a block"),
        (AXIS, "not a LGce block"),
        (CELLS[:-1], "checksum does not match"),
        (forged(b"LGce", version=2), "block version 2, this program reads 1"),
        (forged(b"LGce", rows=1 << 31), "above the limit"),
        (forged(b"LGce", points=9), "claims 9 points in 1 x 1 cells"),
        (forged(b"LGce", body=b"\0" * 10_000_000), "inflates to 10000000 bytes, more than 9"),
        (forged(b"LGce", body=b""), "shorter than its header says"),
        (forged(b"LGce", body=b"\0" + b"1234"), "not as long as its header says"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value,
)
def test_the_error_says_what_is_wrong(block, says):
    with pytest.raises(BlockError, match=says):
        decode_cells(block)


def test_a_bomb_is_refused_before_it_takes_memory():
    bomb = forged(b"LGax", rows=4, body=b"\0" * 50_000_000)
    with pytest.raises(BlockError, match="inflates to 50000000 bytes, more than 64"):
        decode_axis(bomb)


def test_a_column_that_is_not_there():
    with pytest.raises(BlockError, match="has 2 columns"):
        decode_cells(CELLS, [2])
