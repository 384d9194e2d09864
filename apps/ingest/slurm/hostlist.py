"""Slurm's short form of many hosts, `gpu[001-003,7],login1`. Plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

MAX_HOSTS: Final = 4_096
_HOST = re.compile(r"(?:[^,\[\]\s]|\[[0-9,-]*\])+")
_BRACKET = re.compile(r"\[([0-9,-]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expand(text: str, most: int = MAX_HOSTS) -> tuple[str, ...]:
    """The hosts in order, at most `most`; leading zeros stay, what is no range is left out."""
    return tuple(islice((name for host in _HOST.findall(text) for name in _names(host)), most))


def _names(host: str) -> Iterator[str]:
    found = _BRACKET.search(host)
    if found is None:
        yield host
        return
    for number in _numbers(found[1]):
        for rest in _names(host[found.end() :]):
            yield f"{host[: found.start()]}{number}{rest}"


def _numbers(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        if found := _RANGE.fullmatch(part):
            first, last = found[1], found[2] or found[1]
            for number in range(int(first), int(last) + 1):
                yield str(number).zfill(len(first))
