"""Slurm's short form of many hosts, `gpu[001-003,7],login1`. Plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Final

MAX_HOSTS: Final = 4_096
MAX_BRACKETS: Final = 4
"""In the name of one host; Slurm numbers in so many dimensions at most."""
_HOST = re.compile(r"(?:[^,\[\]\s]|\[[0-9,-]*\])+")
_BRACKET = re.compile(r"\[([0-9,-]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expand(text: str, most: int = MAX_HOSTS) -> tuple[str, ...]:
    """The hosts in order, at most `most`; leading zeros stay, what is no range is left out, and so
    is a name with more than MAX_BRACKETS brackets. O(length + most)."""
    found = (name for host in _HOST.findall(text) for name in _names(host, most))
    return tuple(islice(found, most))


def _names(host: str, most: int) -> Iterator[str]:
    parts = _BRACKET.split(host, MAX_BRACKETS + 1)
    texts, brackets = parts[::2], parts[1::2]
    empty = any(next(_numbers(one), None) is None for one in brackets)
    if empty or len(brackets) > MAX_BRACKETS:
        return
    ranges = [list(islice(_numbers(one), most)) for one in brackets]
    for numbers in product(*ranges):
        yield "".join(part for pair in zip(texts, (*numbers, ""), strict=True) for part in pair)


def _numbers(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        if found := _RANGE.fullmatch(part):
            first, last = found[1], found[2] or found[1]
            for number in range(int(first), int(last) + 1):
                yield str(number).zfill(len(first))
