"""logs.domain.triage.placing"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.triage.agents import AgentFacts, Exit
from apps.logs.domain.triage.placing import Blocks, blocks_of


def agent(node, *exits):
    """An agent that reports (rank, local rank) of processes that ended."""
    return AgentFacts(
        node=node,
        signalled={},
        exits=tuple(Exit(rank, local, 100 + rank, 1, 0, "failed") for rank, local in exits),
        named_root=None,
        stopped_by=None,
    )


@given(nodes=st.integers(2, 6), width=st.integers(1, 8), data=st.data(), rank=st.integers(0, 60))
def test_a_rank_lies_where_torchrun_puts_it(nodes, width, data, rank):
    agents = []
    for node in range(nodes):
        local = data.draw(st.integers(0, width - 1))
        agents.append(agent(f"n{node}", (node * width + local, local)))
    place = blocks_of(agents).of(rank)
    expected = (f"n{rank // width}", rank % width) if rank < nodes * width else None
    assert place == expected


def test_beyond_what_one_node_named_nothing_follows():
    blocks = blocks_of([agent("n1", (9, 1), (11, 3))])
    assert [blocks.of(rank) for rank in (7, 8, 11, 12)] == [None, ("n1", 0), ("n1", 3), None]


@pytest.mark.parametrize(
    "agents",
    [
        [agent("n0", (0, 0)), agent("n1", (1, 1))],  # two nodes from the same first rank
        [agent("n0", (0, 0)), agent("n0", (5, 1))],  # a node with two first ranks
        [agent("n0", (0, 3))],  # a block from below rank 0
        [agent("n0", (7, 7)), agent("n1", (4, 0))],  # blocks that overlap
        [agent(None, (0, 0))],
        [],
    ],
)
def test_reports_that_contradict_each_other_place_nobody(agents):
    assert blocks_of(agents) == Blocks()
    assert blocks_of(agents).of(0) is None
