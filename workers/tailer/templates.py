"""Paths of log files with names in them: `/logs/{run}/{attempt}/rank_{rank}.log`.

A name in braces matches one or more characters of one path component, `*` any number of them.
Slurm's own patterns (`%x_%j_%t.out`) and the folders of Kubernetes are templates too.
Pure, but for the listing of folders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from apps.core.errors import AppError

NUMBERS = frozenset({"rank", "local_rank", "task"})
STARTS = ("job", "uid", "container", "start", "attempt")
"""Names that tell the starts of a run apart, in this order."""
NAMES = frozenset({"run", "node", "pod", "namespace", "step", "user", "channel", *NUMBERS, *STARTS})
MAX_FILES = 20_000
_FIELD = re.compile(r"\{(\w*)\}|(\*)|%(\d*)(.)")
_SLURM = {
    "j": "job", "A": "job", "J": "job", "t": "task", "n": "task", "N": "node", "x": "run",
    "u": "user", "s": "step", "a": "start",
}  # fmt: skip
PODS = "{namespace}_{pod}_{uid}/{container}/{start}.log"
CONTAINERS = "{pod}_{namespace}_{container}-{uid}.log"


@dataclass(frozen=True, slots=True)
class Template:
    """text: as given. root: the folder that has no names in it. parts: a regex per component."""

    text: str
    root: Path
    parts: tuple[re.Pattern[str], ...]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Match:
    """A file that fits, and what its path says: name -> text."""

    path: Path
    said: Mapping[str, str]


def parse(text: str, *, slurm: bool = False) -> Template:
    """The template of a path. Raises AppError that names the part at fault.

    slurm: `%j`, `%t`, ... are names as Slurm's `--output` has them.
    """
    if not text.startswith("/"):
        text = str(Path.cwd() / text)
    parts = [part for part in text.split("/") if part]
    fixed = next(
        (n for n, part in enumerate(parts[:-1]) if _has_field(part, slurm)), len(parts) - 1
    )
    seen: set[str] = set()
    patterns = tuple(re.compile(_regex(part, seen, text, slurm)) for part in parts[fixed:])
    return Template(text, Path("/", *parts[:fixed]), patterns, frozenset(seen))


def _has_field(part: str, slurm: bool) -> bool:
    return "{" in part or "*" in part or (slurm and "%" in part)


def _regex(part: str, seen: set[str], where: str, slurm: bool) -> str:
    found, end, here = [], 0, set[str]()
    for field in _FIELD.finditer(part):
        if field[4] and not slurm:
            continue
        found.append(re.escape(part[end : field.start()]))
        found.append(_group(field, here, where))
        end = field.end()
    seen |= here
    rest = part[end:]
    if "{" in rest or "}" in rest:
        raise AppError(f"has a brace without its partner in {part!r}", where=where)
    return "".join(found) + re.escape(rest)


def _group(field: re.Match[str], here: set[str], where: str) -> str:
    if field[2]:
        return r"[^/]*"
    if field[4]:
        if field[4] == "%":
            return "%"
        return _named(_SLURM[field[4]], here) if field[4] in _SLURM else r"[^/]+?"
    name = field[1]
    if name not in NAMES:
        near = get_close_matches(name, NAMES, 1)
        raise AppError(
            f"has no meaning for {{{name}}}",
            where=where,
            hint=f"did you mean {{{near[0]}}}?" if near else f"known: {', '.join(sorted(NAMES))}",
        )
    return _named(name, here)


def _named(name: str, here: set[str]) -> str:
    """A group; a name that comes again in a component must say the same."""
    if name in here:
        return f"(?P={name})"
    here.add(name)
    if name in NUMBERS:
        return rf"(?P<{name}>\d{{1,7}})"
    if name == "job":
        return rf"(?P<{name}>\d{{1,12}}(?:[_+.]\d{{1,7}})*?)"
    return rf"(?P<{name}>[^/]+?)"


def find(template: Template) -> Iterator[Match]:
    """The files that fit, in order of their paths, MAX_FILES at most."""
    return islice(_walk(template.root, template.parts, {}), MAX_FILES)


def _walk(
    folder: Path, parts: tuple[re.Pattern[str], ...], said: Mapping[str, str]
) -> Iterator[Match]:
    pattern, rest = parts[0], parts[1:]
    for entry in _entries(folder):
        fits = pattern.fullmatch(entry.name)
        if fits is None:
            continue
        told = {**said, **{name: text for name, text in fits.groupdict().items() if text}}
        if any(said.get(name, text) != text for name, text in told.items()):
            continue
        if rest and entry.is_dir():
            yield from _walk(Path(entry.path), rest, told)
        elif not rest and not entry.is_dir():
            yield Match(Path(entry.path), told)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing of one that is missing or that nobody may read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: _natural(entry.name))
    except OSError:
        return []


def _natural(name: str) -> list[tuple[int, str]]:
    """`rank_10` after `rank_9`."""
    return [
        (int(word), "") if word.isdigit() else (0, word) for word in re.split(r"(\d{1,18})", name)
    ]
