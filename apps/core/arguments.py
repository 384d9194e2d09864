"""Arguments of commands, as people type them."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable

from apps.core.words import MAX_WHOLE, whole


def whole_number(least: int = 0, most: int = MAX_WHOLE) -> Callable[[str], int]:
    """The `type` of an argument that is a whole number from `least` to `most`; anything else is
    answered with what is allowed."""

    def read(text: str) -> int:
        value = whole(text, most)
        if value is None or value < least:
            raise ArgumentTypeError(f"{text[:40]!r} is no whole number from {least} to {most}")
        return value

    return read
