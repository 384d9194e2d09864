"""Holes in the files that every rank writes: by their numbers, and against the steps around.

Only names count. A rank is missing if the grid of the ranks that are there has a hole
(`mp_rank_TT_PPP`: T x P), or if the step before or after has it. Fewer ranks on one side and the
same ranks on the other are a job that was made smaller, and so is less than half of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import prod

from apps.checkpoints.domain.codes import MAX_NAMED, CheckpointFinding, Code, finding
from apps.core.words import many

_NUMBER = re.compile(
    r"(?P<grid>(?<=mp_rank_)\d{2,}(?:_\d{3,}){1,2}(?=/))"
    r"|(?:(?<=mp_rank_)|(?<=pp_rank_)|(?<=expp_rank_)|(?<=/rank)|(?<=rng_state_)"
    r"|(?<=random_states_)|(?<=_expert_))\d+"
    r"|(?<=_rank)\d+(?=\.bin$)"
)
_WRITTEN_BY_RANKS = (".pt", ".pth", ".pkl", ".bin")
_RANDOM = ("rng_state_", "random_states_")
_MAX_DIGITS = 9

_HOLE = "\x00"

Ranks = set[tuple[int, ...]]


@dataclass(slots=True)
class _Grid:
    """The ranks of files that have one name apart from the numbers. widths: digits at least."""

    ranks: Ranks = field(default_factory=set)
    widths: list[int] = field(default_factory=list)

    def add(self, digits: list[str]) -> None:
        widths = [len(part) for part in digits]
        self.widths = [*map(min, self.widths, widths)] if self.widths else widths
        self.ranks.add(tuple(map(int, digits)))


def gaps(names: Iterable[str], around: Sequence[Iterable[str]] = ()) -> list[CheckpointFinding]:
    """RANK_FILES_GAP, once if state of the training is missing and once if only random states are.

    names: the files of a step. around: those of the step before and of the step after. Without its
    random state a rank trains on, though not bit for bit: a warning. O(names), however large the
    numbers in them are.
    """
    own = _grids(names)
    neighbours = [_grids(other) for other in around]
    lost: dict[bool, list[str]] = {False: [], True: []}
    counts = {False: 0, True: 0}
    for template, grid in sorted({**_absent(own, neighbours), **own}.items()):
        if template in own:
            count, first = _missing(grid.ranks, [_ranks(other, template) for other in neighbours])
        else:
            count, first = len(grid.ranks), sorted(grid.ranks)[: MAX_NAMED + 1]
        fatal = not any(word in template for word in _RANDOM)
        counts[fatal] += count
        lost[fatal] += [_filled(template, grid.widths, rank) for rank in first]
    return [_finding(counts[fatal], lost[fatal], fatal=fatal) for fatal in lost if counts[fatal]]


def _ranks(grids: dict[str, _Grid], template: str) -> Ranks:
    return grids[template].ranks if template in grids else set()


def _absent(own: dict[str, _Grid], neighbours: Sequence[dict[str, _Grid]]) -> dict[str, _Grid]:
    """Files that all neighbours have and the step has of no rank, though its ranks are the same."""
    if not own or not neighbours:
        return {}
    first = neighbours[0]
    same = [t for t in own if all(_ranks(other, t) == own[t].ranks for other in neighbours)]
    every = first.keys() if len(same) == len(own) else ()
    return {t: first[t] for t in every if t not in own and all(t in other for other in neighbours)}


def _finding(count: int, names: list[str], *, fatal: bool) -> CheckpointFinding:
    shown = ", ".join(names[:MAX_NAMED])
    more = f" and {count - MAX_NAMED} more" if count > MAX_NAMED else ""
    result = "" if fatal else "; it resumes, but not bit for bit"
    text = f"{many(count, 'file')} of ranks missing: {shown}{more}{result}"
    return finding(Code.RANK_FILES_GAP, text, fatal=fatal)


def _missing(present: Ranks, around: Sequence[Ranks]) -> tuple[int, list[tuple[int, ...]]]:
    """(how many ranks are missing, the first of them)."""
    holes = _holes(present)
    others = _of_neighbours(present, around)
    count = _grid_size(present) - len(present) + len(others)
    return count, [*islice(holes, MAX_NAMED), *others][: MAX_NAMED + 1]


def _grid_size(present: Ranks) -> int:
    return prod(max(axis) + 1 for axis in zip(*present, strict=True)) if present else 0


def _holes(present: Ranks) -> Iterator[tuple[int, ...]]:
    ends = [max(axis) + 1 for axis in zip(*present, strict=True)]
    return (rank for rank in _grid(ends) if rank not in present) if ends else iter(())


def _grid(ends: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every rank below the ends, one after the other: itertools.product would hold each axis."""
    if not ends:
        yield ()
        return
    for first in range(ends[0]):
        for rest in _grid(ends[1:]):
            yield (first, *rest)


def _of_neighbours(present: Ranks, around: Sequence[Ranks]) -> list[tuple[int, ...]]:
    """Ranks beyond the own grid that a step before or after has."""
    if any(other == present for other in around):
        return []
    fullest: Ranks = max(around, key=len, default=set())
    if not present < fullest or 2 * len(present) <= len(fullest):
        return []
    ends = [max(axis) for axis in zip(*present, strict=True)]
    return sorted(r for r in fullest if any(at > end for at, end in zip(r, ends, strict=True)))


def _grids(names: Iterable[str]) -> dict[str, _Grid]:
    """Name with holes -> the numbers that fill them."""
    found: dict[str, _Grid] = defaultdict(_Grid)
    for name in names:
        if not name.endswith(_WRITTEN_BY_RANKS):
            continue
        digits = [part for match in _NUMBER.finditer(name) for part in match.group().split("_")]
        if digits and all(len(part) <= _MAX_DIGITS for part in digits):
            found[_NUMBER.sub(_holed, name)].add(digits)
    return found


def _holed(match: re.Match[str]) -> str:
    return "_".join(_HOLE for _ in match.group().split("_"))


def _filled(template: str, widths: list[int], rank: tuple[int, ...]) -> str:
    parts = template.split(_HOLE)
    texts = [f"{number:0{width}d}" for number, width in zip(rank, widths, strict=True)]
    return "".join(a + b for a, b in zip(parts, [*texts, ""], strict=True))
