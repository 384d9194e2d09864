"""Where in the program an exception was raised: the innermost frames of its traceback."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHOWN_LINES = 6
_HEAD = "Traceback (most recent call last)"
_FRAME = re.compile(r"(?:^|[\]:] ?)(?:  File \"|    +\S)")
_CARETS = re.compile(r"(?:^|[\]:] ?)\s+[\^~]+\s*$")


def innermost(before: Sequence[str], most: int = SHOWN_LINES) -> tuple[str, ...]:
    """The innermost frames of the traceback that ends a text, `most` lines, outermost first.

    before: the lines above an exception, as they stand in their file, prefixes included. () unless
    they are a traceback with its head. Lines that only mark a place with carets are left out.
    """
    found = list[str]()
    for text in reversed(before):
        if _HEAD in text:
            return tuple(reversed(found[:most]))
        if not _FRAME.search(text):
            break
        if not _CARETS.search(text):
            found.append(text)
    return ()
