"""The shape of a line: its bytes with every digit as `0`. Lines repeat except for their numbers.

A line is its shape and its digits, and both are found for a whole buffer at once. A shape is as
long as its lines, so that what stands where in one of them stands there in all of them.
Plain Python and NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

ZERO = ord("0")
_SHAPED = bytes(ZERO if chr(code).isdecimal() and code < 128 else code for code in range(256))
_NO_DIGITS = bytes(code for code in range(256) if not ZERO <= code < ZERO + 10)


def shaped(data: bytes) -> bytes:
    """The data with every ASCII digit as `0`. About 1 ms for 2 MB."""
    return data.translate(_SHAPED)


def digits_of(data: bytes) -> bytes:
    """The digits of the data and nothing else."""
    return data.translate(None, _NO_DIGITS)


def filled(shape: bytes, digits: bytes) -> bytes:
    """The data whose shape and digits these are. ValueError if their number differs."""
    if not digits:
        return shape
    out = bytearray(shape)
    places = np.frombuffer(out, dtype=np.uint8)
    places[places == ZERO] = np.frombuffer(digits, dtype=np.uint8)
    return bytes(out)


def all_filled(shapes: Sequence[bytes], digits: bytes) -> list[bytes]:
    """The same for many: of each shape its data. digits: of all of them."""
    whole = filled(b"".join(shapes), digits)
    return [whole[start:end] for start, end in pairwise(accumulate(map(len, shapes), initial=0))]


def apart(texts: Sequence[bytes]) -> tuple[NDArray[np.int32], list[bytes], bytes]:
    """(shape of each text: index into the shapes, shapes, all digits)."""
    data = b"".join(texts)
    whole, at = shaped(data), [0, *accumulate(map(len, texts))]
    known: dict[bytes, int] = {}
    shape = [known.setdefault(whole[start:end], len(known)) for start, end in pairwise(at)]
    return np.array(shape, dtype=np.int32), list(known), digits_of(data)


def digit_counts(shapes: list[bytes]) -> NDArray[np.int64]:
    """How many digits the lines of each shape have."""
    ends = np.cumsum(np.array(list(map(len, shapes)), dtype=np.int64))
    zeros = np.flatnonzero(np.frombuffer(b"".join(shapes), dtype=np.uint8) == ZERO)
    return np.diff(np.searchsorted(zeros, ends), prepend=0)
