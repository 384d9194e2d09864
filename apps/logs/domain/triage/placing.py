"""On which node does a rank run that never said so? torchrun gives each node a block of ranks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from apps.logs.domain.triage.agents import AgentFacts


@dataclass(frozen=True, slots=True)
class Blocks:
    """Nodes by their first rank, ascending. width: ranks of each."""

    firsts: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()
    width: int = 0

    def of(self, rank: int) -> tuple[str, int] | None:
        """(node, local rank) of a rank; None if that does not follow."""
        at = bisect_right(self.firsts, rank) - 1
        if at < 0 or rank - self.firsts[at] >= self.width:
            return None
        return self.nodes[at], rank - self.firsts[at]


def blocks_of(agents: Sequence[AgentFacts]) -> Blocks:
    """The blocks that follow from what agents report of ranks that ended: where a rank has a local
    rank, the block of its node begins that much earlier.

    As wide as the smallest distance of two blocks, else as far as local ranks were named. None
    where reports contradict each other.
    """
    known: dict[int, str] = {}
    widest = 0
    for agent in agents:
        for ended in agent.exits:
            node = agent.node or ended.host
            if ended.rank is None or ended.local_rank is None or node is None:
                continue
            if known.setdefault(ended.rank - ended.local_rank, node) != node:
                return Blocks()
            widest = max(widest, ended.local_rank + 1)
    firsts = sorted(known)
    if len(set(known.values())) < len(known) or (firsts and firsts[0] < 0):
        return Blocks()
    gaps = [after - before for before, after in pairwise(firsts)]
    width = min(gaps, default=widest)
    if width < widest:
        return Blocks()
    return Blocks(tuple(firsts), tuple(known[first] for first in firsts), width)
