from apps.rollbacks.domain.lineage import Branch
from apps.rollbacks.domain.restoring import SeenStart, estimate
from apps.rollbacks.domain.scene import Begun
from apps.rollbacks.domain.starts import Started, begun_from

BRANCHES = (Branch(0, None, None), Branch(1, 0, 910), Branch(2, 1, 760))
SAVED = [(0, 750), (0, 900), (0, 1050), (1, 1050)]


def started(number, parent, fork, last, **fields):
    return Started(number, parent, fork, last, **{"running": False, **fields})


def test_without_an_order_it_is_the_newest_one_before_the_first_logged_step():
    starts = [started(1, 0, 910, 1_200), started(2, 1, 760, 1_000, running=True)]
    assert begun_from(starts, SAVED, BRANCHES) == {
        (0, 900): (Begun(1, "it reached step 1,200"),),
        (0, 750): (Begun(2, "it is at step 1,000"),),
    }


def test_an_order_or_what_the_start_said_names_it():
    ordered = started(1, 0, 910, 1_200, ordered=(0, 750), verdict="RB-3 failed")
    told = started(2, 1, None, None, told_step=900)
    assert begun_from([ordered, told], SAVED, BRANCHES) == {
        (0, 750): (Begun(1, "it reached step 1,200; RB-3 failed"),),
        (0, 900): (Begun(2, "it never logged a step", loaded=False),),
    }


def test_a_start_that_still_loads_has_not_failed():
    loading = started(1, 0, None, None, told_step=900, running=True)
    assert begun_from([loading], SAVED, BRANCHES)[(0, 900)] == (
        Begun(1, "it has logged nothing yet"),
    )


def test_a_start_that_says_nothing_is_left_out():
    assert begun_from([started(1, 0, None, None)], SAVED, BRANCHES) == {}
    assert begun_from([started(1, 0, 10, 20)], SAVED, BRANCHES) == {}


def test_loading_takes_what_the_last_starts_took():
    seen = [SeenStart(9_000, 0), *(SeenStart(s, 100) for s in (60, 80, 70))]
    found = estimate(100, 4, seen)
    assert (found.seconds, found.basis) == (
        70, "from launch to first step, the median of 3 starts",
    )  # fmt: skip
    assert estimate(200, 4, seen).seconds == 140
    assert estimate(50, 4, seen).seconds == 70


def test_without_a_start_it_is_what_the_hosts_can_read():
    found = estimate(3_500_000_000_000, 4, [])
    assert round(found.seconds) == 438
    assert found.basis == "at least, if each of 4 hosts reads 2 GB/s"
    assert estimate(3_500, 0, []) is None
