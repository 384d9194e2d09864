"""apps.logs.domain.triage.flight: dumps of ranks -> who stopped first"""

from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.triage.flight import LIKELY, NONE, PROVEN, UNSURE, judge
from apps.logs.domain.triage.flight_dump import read_dump
from apps.logs.domain.triage.flight_graph import components
from tests.flight_samples import collective, dump, pair, pickled

WORLD = {"0": [0, 1, 2, 3]}


def judged(groups, by_rank):
    return judge(
        {rank: read_dump(pickled(dump(groups, entries)), rank) for rank, entries in by_rank.items()}
    )


def test_the_rank_that_has_not_enqueued_what_the_others_wait_in_is_named():
    done = collective("0", 4, state="completed")
    wait = collective("0", 5)
    found = judged(WORLD, {0: [wait], 1: [wait], 2: [done], 3: [wait]})
    assert (found.ranks, found.waiting, found.confidence) == ((2,), 3, PROVEN)
    assert found.summary == "Rank 2 stopped first: 3 other ranks wait for it"
    assert found.evidence[0].text == (
        "Rank 2 has not enqueued all_reduce number 5 of group GROUP_0 (0); "
        "ranks 0, 1 and 3 wait in it"
    )


def test_a_rank_that_itself_waits_is_not_blamed_for_those_behind_it():
    groups = {"a": [0, 1], "b": [1, 2], "c": [2, 3]}
    found = judged(
        groups,
        {0: [collective("a", 1)], 1: [collective("b", 1)], 2: [collective("c", 1)], 3: []},
    )
    assert (found.ranks, found.waiting) == ((3,), 3)


def test_two_ranks_that_stopped_independently_are_both_named():
    groups = {"a": [0, 1], "b": [2, 3]}
    found = judged(groups, {0: [collective("a", 1)], 1: [], 2: [collective("b", 1)], 3: []})
    assert found.ranks == (1, 3)
    assert found.summary == "Ranks 1 and 3 stopped first: 2 other ranks wait for them"


def test_ranks_that_call_in_a_different_order_wait_for_each_other():
    groups = {"a": [0, 1], "b": [0, 1, 2]}
    found = judged(groups, {0: [collective("a", 1)], 1: [collective("b", 1)], 2: []})
    assert found.ranks == (2,)
    found = judged(
        groups, {0: [collective("a", 1)], 1: [collective("b", 1)], 2: [collective("b", 1)]}
    )
    assert (found.ranks, found.together, found.waiting) == ((0, 1), ((0, 1),), 1)
    assert found.summary == "Ranks 0 and 1 wait for each other; 1 other rank waits for them"


def test_a_send_waits_for_the_rank_without_the_matching_receive():
    groups = {"pp": [4, 6]}
    sends = [pair("pp", 7, "nccl:send 0->1")]
    assert judged(groups, {4: sends, 6: []}).ranks == (6,)
    matched = judged(groups, {4: sends, 6: [pair("pp", 9, "nccl:recv 1<-0")]})
    assert matched.ranks == ()
    other = judged(groups, {4: sends, 6: [pair("pp", 9, "nccl:send 1->0")]})
    assert other.together == ((4, 6),)


def test_a_rank_without_a_dump_is_named_only_if_nothing_else_explains_the_wait():
    wait = collective("0", 5)
    silent = judged(WORLD, {0: [wait], 1: [wait], 3: [wait]})
    assert (silent.ranks, silent.absent, silent.confidence) == ((2,), (2,), LIKELY)
    assert silent.summary.endswith("wait for it and sent no dump")
    explained = judged(WORLD, {0: [wait], 1: []})
    assert (explained.ranks, explained.absent, explained.confidence) == ((1,), (2, 3), LIKELY)
    assert judged(WORLD, {0: [wait]}).confidence == UNSURE


def test_a_forgotten_dump_is_not_blamed_beside_a_rank_that_stopped():
    groups = {"a": [0, 1], "pp": [2, 3]}
    found = judged(groups, {0: [collective("a", 1)], 1: [], 2: [pair("pp", 7, "nccl:send 0->1")]})
    assert (found.ranks, found.absent, found.confidence) == ((1,), (3,), LIKELY)


def test_a_silent_rank_and_the_one_that_may_wait_for_it_are_both_named_with_doubt():
    groups = {"a": [0, 1], "b": [1, 2]}
    found = judged(groups, {0: [collective("a", 1)], 1: [collective("b", 1)]})
    assert (found.ranks, found.confidence) == ((1, 2), UNSURE)
    assert found.summary == "Rank 2 sent no dump: it stopped first, or rank 1 did"


def test_sends_and_receives_are_told_with_global_ranks():
    groups = {"pp": [4, 6]}
    sends, receives = [pair("pp", 7, "nccl:send 0->1")], [pair("pp", 7, "nccl:recv 0<-1")]
    assert judged(groups, {4: sends, 6: []}).evidence[0].text == (
        "Rank 6 has no receive open for the send of rank 4 in group GROUP_pp (pp)"
    )
    assert judged(groups, {4: receives}).evidence[0].text == (
        "Rank 6 sent no dump; rank 4 waits for its send in group GROUP_pp (pp)"
    )


def test_nobody_is_named_if_all_have_enqueued_the_same():
    wait = collective("0", 5)
    found = judged(WORLD, {rank: [wait] for rank in range(4)})
    assert (found.ranks, found.confidence) == ((), NONE)
    assert "the operation itself hangs" in found.summary
    assert "do not show a hang" in judged(WORLD, {rank: [] for rank in range(4)}).summary


def test_a_rank_that_called_something_else_in_the_same_place_is_named():
    same, odd = collective("0", 5), collective("0", 5, "nccl:_all_gather_base")
    found = judged(WORLD, {0: [same], 1: [same], 2: [same], 3: [odd]})
    assert (found.ranks, found.confidence) == ((3,), LIKELY)
    assert "called all_gather_base where 3 called all_reduce" in found.evidence[0].text


def test_a_group_without_a_list_of_ranks_is_the_whole_job():
    root = dump({}, [collective("0", 5)]) | {"pg_config": {"0": {"ranks": "everyone"}}}
    empty = dump({}, [])
    dumps = {rank: read_dump(pickled(root), rank) for rank in (0, 1)}
    assert judge(dumps | {2: read_dump(pickled(empty), 2)}).ranks == (2,)


_ranks = st.integers(0, 7)
_program = st.lists(st.sets(_ranks, min_size=2, max_size=8), min_size=1, max_size=12)


def _ran(program, stops):
    """Entries of each rank after every rank ran the program as far as it could: each collective
    blocks until its group is there; a rank in `stops` never calls its n-th one."""
    names = {frozenset(group): str(number) for number, group in enumerate(program)}
    position, entries = dict.fromkeys(range(8), 0), {rank: [] for rank in range(8)}
    mine = {rank: [i for i, group in enumerate(program) if rank in group] for rank in range(8)}

    def at(rank):
        calls = mine[rank]
        here = position[rank]
        return calls[here] if here < len(calls) and here != stops.get(rank) else None

    moved = True
    while moved:
        moved = False
        for number, group in enumerate(program):
            if all(at(rank) == number for rank in group):
                for rank in group:
                    position[rank] += 1
                moved = True
    for rank in range(8):
        for number in [*mine[rank][: position[rank]], at(rank)]:
            if number is not None:
                group = frozenset(program[number])
                seq = 1 + sum(frozenset(one) == group for one in program[:number])
                state = "scheduled" if number == at(rank) else "completed"
                entries[rank].append(collective(names[group], seq, state=state))
    groups = {name: sorted(group) for group, name in names.items()}
    waiting = {rank for rank in range(8) if at(rank) is not None}
    return groups, entries, waiting


@given(_program, st.dictionaries(_ranks, st.integers(0, 6), max_size=3))
def test_only_ranks_that_stopped_are_named_and_somebody_is_if_anybody_waits(program, stops):
    groups, entries, waiting = _ran(program, stops)
    found = judged(groups, entries)
    assert set(found.ranks) <= set(stops)
    assert bool(found.ranks) == bool(waiting)
    assert found.waiting == len(waiting)


@given(_program, st.dictionaries(_ranks, st.integers(0, 6), max_size=3), st.sets(_ranks))
def test_a_rank_that_went_on_is_not_named_though_dumps_are_missing(program, stops, forgotten):
    groups, entries, _ = _ran(program, stops)
    found = judged(groups, {r: one for r, one in entries.items() if r not in forgotten})
    assert found.confidence == UNSURE or set(found.ranks) <= set(stops) | forgotten
    assert not found.ranks or set(found.ranks) & (set(stops) | forgotten)


@given(_program, st.dictionaries(_ranks, st.integers(0, 6), max_size=3), st.permutations(range(8)))
def test_the_order_of_the_dumps_does_not_matter(program, stops, order):
    groups, entries, _ = _ran(program, stops)
    assert judged(groups, entries) == judged(groups, {rank: entries[rank] for rank in order})


@given(st.dictionaries(_ranks, st.lists(_ranks, max_size=4), max_size=8))
def test_components_are_the_nodes_that_reach_each_other(edges):
    def reached(start):
        seen, todo = set(), [start]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo += edges.get(node, ())
        return seen

    nodes = set(edges) | {node for targets in edges.values() for node in targets}
    reach = {node: reached(node) for node in nodes}
    expected = {frozenset(b for b in nodes if b in reach[a] and a in reach[b]) for a in nodes}
    found = [frozenset(one) for one in components(edges)]
    assert set(found) == expected
    assert len(found) == len(expected)
