"""How long somebody has waited who says that he gives up: a timeout begins before its message."""

from __future__ import annotations

import re

_MS = 1_000_000
_LONGEST_MS = 7 * 24 * 3_600_000
"""What says more is no timeout."""
_STATED = re.compile(
    r"ran for (\d{1,12}) milliseconds"
    r"|Timed out waiting (\d{1,12})ms"
    r"|[Ww]ait timeout after (\d{1,12})ms"
    r"|Timeout\(ms\)=(\d{1,12})\) timed out in blocking wait"
)


def waited_ns(text: str) -> int:
    """The wait that a timeout states (NCCL's watchdog, gloo, the store of torch), in ns; 0 for any
    other line. What ran counts, not what was allowed: a watchdog looks only now and then."""
    if "ime" not in text and "ran for" not in text:
        return 0
    found = _STATED.search(text)
    if found is None:
        return 0
    stated_ms = int(next(group for group in found.groups() if group is not None))
    return stated_ms * _MS if stated_ms <= _LONGEST_MS else 0
