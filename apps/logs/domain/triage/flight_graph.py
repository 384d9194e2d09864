"""Who waits for whom: the graph of ranks and operations, and the ends of its chains.

Between a rank that waits and the ranks it waits for stands a node for the collective. So edges grow
with ranks, not with pairs of ranks: half of 16,384 ranks waiting for the other half takes 16,384
edges, not 67 million.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.logs.domain.triage.flight_dump import Dump, Operation

Edges = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Wait:
    """An operation that some ranks enqueued and others did not.

    waiting: ranks whose first unfinished operation of the group it is. missing: ranks that have not
    enqueued it and had enqueued every earlier one that is waited for. deeper: index of the next
    earlier such wait of the group, whose missing ranks are missing here too. guessed: the missing
    ranks sent no dump, and no rank that did explains the wait.
    """

    operation: Operation
    waiting: tuple[int, ...]
    missing: tuple[int, ...]
    since_ns: int
    deeper: int | None = None
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """Ranks that others wait for and that wait for nobody else. More than one: for each other."""

    ranks: tuple[int, ...]


def waits_of(dumps: Mapping[int, Dump], everyone: tuple[int, ...]) -> list[Wait]:
    """Every operation that a rank waits in because another is not there."""
    firsts: dict[tuple[str, int], dict[int, list[tuple[int, Operation]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    found: list[Wait] = []
    for rank, dump in dumps.items():
        seen: set[object] = set()
        for operation in dump.pending:
            mark = (operation.group.key, operation.peer, operation.peer and operation.kind)
            if mark in seen:
                continue
            seen.add(mark)
            if operation.peer is None:
                firsts[operation.group.key][operation.seq].append((rank, operation))
            else:
                found += _pair_wait(dumps, rank, operation)
    for by_seq in firsts.values():
        found += _group_waits(dumps, everyone, by_seq, len(found))
    return found


def _pair_wait(dumps: Mapping[int, Dump], rank: int, operation: Operation) -> list[Wait]:
    """A send waits for a peer that has no receive from it open, and the other way round."""
    peer = operation.peer
    if peer is None or peer == rank:
        return []
    other = dumps.get(peer)
    if other is not None and any(_matches(operation, rank, one) for one in other.pending):
        return []
    return [Wait(operation, (rank,), (peer,), operation.created_ns, guessed=other is None)]


def _matches(operation: Operation, rank: int, other: Operation) -> bool:
    return (
        other.peer == rank
        and other.group.key == operation.group.key
        and other.kind[:4] != operation.kind[:4]
    )


def _group_waits(
    dumps: Mapping[int, Dump],
    everyone: tuple[int, ...],
    by_seq: Mapping[int, list[tuple[int, Operation]]],
    start: int,
) -> list[Wait]:
    group = next(iter(by_seq.values()))[0][1].group
    members = group.ranks or everyone
    absent = tuple(rank for rank in members if rank not in dumps)
    behind = sorted(
        (dumps[rank].enqueued.get(group.name, -1), rank) for rank in members if rank in dumps
    )
    found: list[Wait] = []
    deeper, at = None, 0
    for seq, waiting in sorted(by_seq.items()):
        begin = at
        while at < len(behind) and behind[at][0] < seq:
            at += 1
        missing = tuple(rank for _, rank in behind[begin:at])
        guessed = at == 0
        if guessed and not absent:
            continue
        found.append(_wait(waiting, absent if guessed else missing, deeper, guessed=guessed))
        deeper = None if guessed else start + len(found) - 1
    return found


def _wait(
    waiting: list[tuple[int, Operation]],
    missing: tuple[int, ...],
    deeper: int | None,
    *,
    guessed: bool,
) -> Wait:
    first = min((operation for _, operation in waiting), key=lambda one: one.created_ns)
    ranks = tuple(sorted(rank for rank, _ in waiting))
    return Wait(first, ranks, missing, first.created_ns, deeper, guessed)


def ends_of(waits: Sequence[Wait]) -> list[End]:
    """The strongly connected sinks that somebody waits for, smallest rank first."""
    edges = _edges(waits)
    component: dict[int, int] = {}
    members: list[list[int]] = []
    for found in components(edges):
        component.update((node, len(members)) for node in found)
        members.append(found)
    leaves, awaited = set(), set()
    for node, targets in edges.items():
        for target in targets:
            if component[node] != component[target]:
                leaves.add(component[node])
                awaited.add(component[target])
    ends = [
        tuple(sorted(node for node in nodes if node >= 0))
        for number, nodes in enumerate(members)
        if number not in leaves and (number in awaited or len(nodes) > 1)
    ]
    return [End(ranks) for ranks in sorted(ends)]


def _edges(waits: Sequence[Wait]) -> Edges:
    """Ranks are numbered from 0, waits from -1 downwards."""
    edges: dict[int, list[int]] = defaultdict(list)
    for number, wait in enumerate(waits):
        node = -1 - number
        for rank in wait.waiting:
            edges[rank].append(node)
        edges[node] += wait.missing
        if wait.deeper is not None:
            edges[node].append(-1 - wait.deeper)
    return edges


def components(edges: Edges) -> Iterable[list[int]]:
    """Strongly connected components (Tarjan 1972), without recursion: chains may be long."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    open_nodes: set[int] = set()
    for root in list(edges):
        if root in order:
            continue
        path = [(root, iter(edges[root]))]
        _open(root, order, low, stack, open_nodes)
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in order:
                    _open(target, order, low, stack, open_nodes)
                    path.append((target, iter(edges.get(target, ()))))
                    break
                if target in open_nodes:
                    low[node] = min(low[node], order[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    yield _closed(node, stack, open_nodes)


def _open(
    node: int, order: dict[int, int], low: dict[int, int], stack: list[int], open_nodes: set[int]
) -> None:
    order[node] = low[node] = len(order)
    stack.append(node)
    open_nodes.add(node)


def _closed(node: int, stack: list[int], open_nodes: set[int]) -> list[int]:
    found = []
    while True:
        found.append(stack.pop())
        open_nodes.discard(found[-1])
        if found[-1] == node:
            return found
