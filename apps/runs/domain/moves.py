"""Who replaced whom between two attempts of a run. Plain Python.

Ranks say it: what ran on one host runs on another afterwards. A host of which no rank is known in
the later attempt may still be there, silent: of it nothing is claimed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Hosts = Mapping[str, Sequence[int]]
"""node -> the ranks it had in one attempt, each rank on one node."""


@dataclass(frozen=True, slots=True)
class Swap:
    """`new` came in for `old`. ranks: those that went from one to the other, ascending; empty if
    the only host that came is taken to be the heir of the only one that left."""

    old: str
    new: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Moves:
    """What changed from one attempt to a later one.

    swaps: by the name of the old host. left, joined: hosts that left or came without a counterpart.
    unheard: hosts of the first attempt none of whose ranks is known in the later one, by now.
    moved: ranks that went from one staying host to another.
    """

    swaps: tuple[Swap, ...]
    left: tuple[str, ...]
    joined: tuple[str, ...]
    unheard: tuple[str, ...]
    moved: tuple[int, ...]

    @property
    def same(self) -> bool:
        """Whether every known rank stayed where it was."""
        return not (self.swaps or self.left or self.joined or self.unheard or self.moved)


def moves(before: Hosts, after: Hosts) -> Moves:
    """Compares where ranks ran. O(ranks), and O(p log p) for p pairs of a host that left and one
    that came.

    A host left if it is not in `after` though one of its ranks is. Those that left and those that
    came are paired by most ranks in common, each host once.
    """
    at = {rank: node for node, ranks in after.items() for rank in ranks}
    gone = [node for node in before if node not in after]
    left = [node for node in gone if any(rank in at for rank in before[node])]
    joined = {node for node in after if node not in before}
    went = {(node, rank): at[rank] for node in before for rank in before[node] if rank in at}
    parted = set(left)
    swaps = _swaps({key: new for key, new in went.items() if key[0] in parted and new in joined})
    left = [node for node in left if node not in {swap.old for swap in swaps}]
    came = sorted(joined - {swap.new for swap in swaps})
    if len(left) == len(came) == 1:
        swaps.append(Swap(left.pop(), came.pop(), ()))
    stayed = before.keys() & after.keys()
    return Moves(
        swaps=tuple(sorted(swaps, key=lambda swap: swap.old)),
        left=tuple(sorted(left)),
        joined=tuple(came),
        unheard=tuple(sorted(set(gone) - parted)),
        moved=tuple(sorted(r for (o, r), new in went.items() if o in stayed and new != o)),
    )


def _swaps(went: Mapping[tuple[str, int], str]) -> list[Swap]:
    """went: (old host, rank) -> new host."""
    common = defaultdict[tuple[str, str], list[int]](list)
    for (old, rank), new in went.items():
        common[old, new].append(rank)
    found: list[Swap] = []
    paired = set[str]()
    for (old, new), ranks in sorted(common.items(), key=lambda item: (-len(item[1]), item[0])):
        if paired.isdisjoint((old, new)):
            paired |= {old, new}
            found.append(Swap(old, new, tuple(sorted(ranks))))
    return found
