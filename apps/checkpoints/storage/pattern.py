"""Whose checkpoints lie where, below a root that many runs share: `{run}/checkpoints`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from apps.core.errors import AppError

MAX_PATTERN = 200
MAX_STARS = 4
"""Each multiplies the time that a name takes."""
_RUN = "{run}"
_HINT = "folders below the root, one of them {run}, such as {run}/checkpoints or */{run}"

T = TypeVar("T")


class BadPattern(AppError):
    """A pattern that names no run."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one folder of a shared root holds. run: what stands in place of {run}."""

    run: str
    folder: str


def check(pattern: str) -> str:
    """The pattern without slashes at its ends. Raises BadPattern."""
    plain = pattern.strip().strip("/")
    words = plain.split("/")
    bad = len(plain) > MAX_PATTERN or not plain.isprintable() or "" in words
    if bad or any(word in (".", "..") for word in words):
        raise BadPattern("this is no pattern of folders", where="pattern", hint=_HINT)
    if plain.count("*") > MAX_STARS:
        raise BadPattern(f"more than {MAX_STARS} * in a pattern", where="pattern", hint=_HINT)
    if plain.count(_RUN) != 1:
        raise BadPattern(
            "the pattern says not once where the run stands", where="pattern", hint=_HINT
        )
    return plain


def split(files: Mapping[str, T], pattern: str) -> dict[Part, dict[str, T]]:
    """The files of each folder that matches, by their names below it; others are left out.

    pattern: as `check` gives it; * stands for anything within one name. O(files).
    """
    depth = pattern.count("/") + 1
    shape = _regex(pattern)
    parts: dict[str, dict[str, T]] = {}
    for name, value in files.items():
        words = name.split("/", depth)
        if len(words) > depth:
            parts.setdefault("/".join(words[:depth]), {})[words[depth]] = value
    matched = ((folder, shape.fullmatch(folder)) for folder in parts)
    return {Part(found["run"], folder): parts[folder] for folder, found in matched if found}


def _regex(pattern: str) -> re.Pattern[str]:
    before, _, after = pattern.partition(_RUN)
    return re.compile(f"{_plain(before)}(?P<run>[^/]+){_plain(after)}")


def _plain(text: str) -> str:
    return re.escape(text).replace(r"\*", "[^/]*")
