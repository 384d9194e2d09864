"""runs.domain.moves: two attempts of a run compared host by host."""

from hypothesis import given
from hypothesis import strategies as st

from apps.runs.domain.moves import Swap, moves

BEFORE = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}


def test_nothing_moved():
    assert moves(BEFORE, BEFORE).same


def test_a_spare_takes_the_ranks_of_the_host_that_left():
    found = moves(BEFORE, {"a": [0, 1], "spare": [2, 3], "c": [4, 5]})
    assert found.swaps == (Swap("b", "spare", (2, 3)),)
    assert (found.left, found.joined, found.unheard, found.moved) == ((), (), (), ())


def test_the_only_one_that_came_stands_in_for_the_only_one_that_left_though_ranks_were_dealt_anew():
    found = moves(BEFORE, {"a": [0, 1], "c": [2, 3], "spare": [4, 5]})
    assert found.swaps == (Swap("b", "spare", ()),)
    assert found.moved == (4, 5)


def test_a_host_of_which_nothing_is_known_yet_has_not_left():
    found = moves(BEFORE, {"a": [0, 1], "c": [4, 5]})
    assert (found.unheard, found.left, found.swaps) == (("b",), (), ())


def test_a_job_that_shrinks_loses_a_host_and_gains_none():
    found = moves({"a": [0], "b": [1], "c": [2]}, {"a": [0], "c": [1]})
    assert (found.left, found.joined, found.moved, found.swaps) == (("b",), (), (), ())


def test_hosts_are_paired_by_most_ranks_in_common():
    found = moves({"a": [0, 1, 2], "b": [3]}, {"x": [0, 1], "y": [2, 3]})
    assert found.swaps == (Swap("a", "x", (0, 1)), Swap("b", "y", (3,)))


places = st.dictionaries(st.integers(0, 12), st.sampled_from("abcdef"), max_size=12)


def by_host(placed):
    found = {}
    for rank in sorted(placed):
        found.setdefault(placed[rank], []).append(rank)
    return found


@given(places, places)
def test_every_host_that_is_gone_or_new_is_told_of_exactly_once(one, other):
    before, after = by_host(one), by_host(other)
    found = moves(before, after)
    gone = [*(s.old for s in found.swaps), *found.left, *found.unheard]
    came = [*(s.new for s in found.swaps), *found.joined]
    assert sorted(gone) == sorted(set(before) - set(after))
    assert sorted(came) == sorted(set(after) - set(before))
    for swap in found.swaps:
        assert all(one[rank] == swap.old and other[rank] == swap.new for rank in swap.ranks)


@given(places)
def test_the_way_back_is_the_mirror_image(placed):
    there = {rank: node.upper() for rank, node in placed.items()}
    out, back = moves(by_host(placed), by_host(there)), moves(by_host(there), by_host(placed))
    assert [(s.new, s.old, s.ranks) for s in out.swaps] == [
        (s.old, s.new, s.ranks) for s in back.swaps
    ]
    assert len(out.swaps) == len(set(placed.values()))
