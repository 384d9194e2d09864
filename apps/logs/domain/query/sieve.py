"""A small filter per chunk: whether a piece of text can be in one of its lines at all.

The filter holds the 4-byte grams of all lines, folded: lower case, decimal digits left out. Digits
are what makes lines differ; without them a chunk of 20,000 lines is some 1,500 different texts. A
gram is one hashed bit of a bitmap with six bits a gram, 4 KB for such a chunk. It never says no to
a text that is there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

GRAM = 4
MIN_TEXT_BYTES = 64 << 10
"""Less text is searched as fast as it is sieved: it gets no sieve."""
BITS_A_GRAM = 6
MIN_BITS, MAX_BITS = 1 << 10, 1 << 18
_DIGITS = b"0123456789"
_LOWER = bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in range(256))
# The two letters beyond ASCII that are an ASCII letter in another case.
_CASELESS = (("\u017f".encode(), b"s"), ("\u212a".encode(), b"k"))
_MULTIPLIER = np.uint32(0x9E3779B1)


def build(texts: Iterable[bytes], text_bytes: int) -> bytes:
    """The sieve of lines; b"" (anything may be there) for little text.

    texts: of the lines, or their shapes (shapes.py). text_bytes: of all lines. Length: a power of
    two. Cost: about 2 ms for 1 MB of texts; the shapes of log lines are a twentieth of them.
    """
    if text_bytes < MIN_TEXT_BYTES:
        return b""
    return _of_folded(set(fold(b"\n".join(texts)).split(b"\n")))


def fold(text: bytes) -> bytes:
    """The text without decimal digits, in lower case."""
    return _plain(text).translate(_LOWER, _DIGITS)


def caseless(text: bytes) -> bytes:
    """The text with its ASCII letters in lower case, and what is one of them in another case."""
    return _plain(text).translate(_LOWER)


def _plain(text: bytes) -> bytes:
    if not text.isascii():
        for odd, plain in _CASELESS:
            text = text.replace(odd, plain)
    return text


def _of_folded(texts: Iterable[bytes]) -> bytes:
    hashes = _hashes(b"\n".join(texts))
    seen = np.zeros(MAX_BITS, dtype=np.bool_)
    seen[hashes >> np.uint32(32 - 18)] = True
    bits = MIN_BITS
    while bits < MAX_BITS and bits < BITS_A_GRAM * np.count_nonzero(seen):
        bits *= 2
    # The upper bits of a hash are its place in every size of bitmap.
    return np.packbits(seen.reshape(bits, -1).any(axis=1)).tobytes()


def _hashes(folded: bytes) -> NDArray[np.uint32]:
    parts = [
        np.frombuffer(folded, dtype="<u4", offset=at, count=(len(folded) - at) // GRAM)
        for at in range(min(GRAM, len(folded)))
    ]
    grams = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32)
    return grams * _MULTIPLIER


def may_contain(sieve: bytes, literal: bytes) -> bool:
    """False only if no line holds `literal` in this or another case. literal: UTF-8."""
    return Probe(literal).passes(sieve)


class Probe:
    """One literal that is looked for in many sieves.

    ignore_case: the text may hold it in another case, so that only its ASCII letters count.
    """

    def __init__(self, literal: bytes, *, ignore_case: bool = False) -> None:
        pieces = [fold(literal)]
        if ignore_case and not literal.isascii():
            pieces = bytes(b if b < 128 else 10 for b in fold(literal)).split(b"\n")
        self._hashes = np.concatenate([_hashes(piece) for piece in pieces])

    @property
    def is_blunt(self) -> bool:
        """Whether it passes every sieve: too short, or of digits only."""
        return not len(self._hashes)

    def passes(self, sieve: bytes) -> bool:
        """Whether the literal may be in the lines of the sieve."""
        if not sieve or self.is_blunt:
            return True
        bits = np.frombuffer(sieve, dtype=np.uint8)
        at = self._hashes >> np.uint32(32 - (len(sieve) * 8).bit_length() + 1)
        return bool(((bits[at >> 3] >> (7 - (at & 7)).astype(np.uint8)) & 1).all())
