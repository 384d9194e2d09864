"""How the C library treats the memory of bodies."""

from __future__ import annotations

import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
KEPT_BYTES: Final = 64 << 20
LARGE_BYTES: Final = 32 << 20


def keep_freed() -> None:
    """From now on up to KEPT_BYTES that are freed stay with the process, for the next bodies.

    By default glibc gives a megabyte back at once, and for the next one the kernel clears the same
    pages again: half the cost of reading bodies from the stream. Other C libraries: no effect.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
