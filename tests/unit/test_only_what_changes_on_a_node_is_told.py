"""nodes.domain.conditions"""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.exposition import meaning
from apps.nodes.domain.conditions import Look, Mode, Reading, change

NS = 10**9
HOT = Reading("temp 3", "thermal", "warning", "hot", "GPU 3")
ECC = Reading("ecc 3", "ecc", "critical", "errors", "GPU 3", Mode.COUNT, 0.0)


def looks(*readings, whole=False, step_s=15):
    """One look after another, each with one reading (None: with none); all events."""
    held, told = {}, []
    for at, reading in enumerate(readings):
        found = () if reading is None else (reading,)
        changed = change(held, Look("dcgm", "a01", at * step_s * NS, found, whole))
        held = {name: one for name, one in held.items() if name not in changed.drop}
        held |= changed.put
        told += [(e.time_ns // NS, e.severity, e.ended_ns and e.ended_ns // NS, e.message)
                 for e in changed.events]  # fmt: skip
    return told


def level(name, **more):
    return replace(HOT, level=name, **more)


def count(value, **more):
    return replace(ECC, value=float(value), **more)


def test_a_state_begins_once_and_ends_once():
    told = looks(level(""), HOT, HOT, HOT, level(""), level(""))
    assert told == [(15, "warning", None, "hot"), (15, "warning", 60, "hot")]


def test_a_state_on_the_border_stays_as_it_was():
    near = level("", near=True)
    assert looks(near, HOT, near, HOT, near) == [(15, "warning", None, "hot")]


def test_what_gets_worse_ends_and_begins_anew():
    told = looks(HOT, level("critical"))
    assert told == [(0, "warning", None, "hot"), (0, "warning", 15, "hot"),
                    (15, "critical", None, "hot")]  # fmt: skip


@pytest.mark.parametrize(("whole", "ends"), [(True, 1), (False, 0)])
def test_a_state_that_is_not_named_is_over_only_after_a_whole_look(whole, ends):
    assert len(looks(HOT, None, whole=whole)) == 1 + ends


def test_a_source_that_knows_since_when_is_believed():
    told = looks(None, replace(HOT, time_ns=3 * NS), replace(HOT, level="", time_ns=19 * NS))
    assert told == [(3, "warning", None, "hot"), (3, "warning", 19, "hot")]


def test_a_source_whose_clock_runs_ahead_still_tells_the_end():
    told = looks(HOT, replace(level("critical"), time_ns=900 * NS), level(""))
    assert told[-1] == (15, "critical", 30, "hot")


def test_what_a_source_takes_for_something_else_under_the_same_time_is_another_event():
    held = change({}, Look("dcgm", "a01", 9 * NS, (replace(HOT, time_ns=3 * NS),))).put
    other = replace(HOT, kind="xid_79", time_ns=3 * NS)
    over, begun = change(held, Look("dcgm", "a01", 20 * NS, (other,))).events
    assert (over.kind, over.ended_ns, begun.kind) == ("thermal", 20 * NS, "xid_79")
    assert over.key != begun.key


def test_of_two_readings_of_one_name_the_later_stands():
    held = change({}, Look("dcgm", "a01", 9 * NS, (HOT,))).put
    after = change(held, Look("dcgm", "a01", 20 * NS, (level(""), HOT)))
    assert (list(after.put), after.drop) == (["temp 3"], set())


def test_a_count_tells_its_rises():
    assert looks(count(0), count(0), count(2), count(2), count(5)) == [
        (30, "critical", None, "2 errors within 30 s, 2 in all"),
        (60, "critical", None, "3 errors within 30 s, 5 in all"),
    ]


def test_what_was_counted_before_the_first_look_is_no_alarm():
    (told,) = looks(count(4), count(4))
    assert told[1:3] == ("info", None)
    assert told[3].startswith("4 errors (it was there at the first look")


def test_a_count_that_began_anew_still_counts():
    told = looks(count(4), count(0), count(1), count(4))
    assert [one[3] for one in told[1:]] == [
        "1 errors within 15 s, 1 in all", "3 errors within 15 s, 4 in all",
    ]  # fmt: skip
    assert looks(count(4), count(2))[1][3] == "2 errors since counting began anew"


def test_small_rises_add_up():
    told = looks(*(count(n, least=100.0) for n in (50, 90, 130, 160, 210)))
    assert [one[3] for one in told] == ["110 errors within 45 s, 160 in all"]


def test_the_last_number_is_told_when_it_changes():
    def last(number):
        return replace(ECC, mode=Mode.LATEST, value=float(number), message=f"Xid {number}")

    told = looks(last(79), last(79), last(48), last(0), last(48))
    assert [(at, level) for at, level, _, _ in told] == [(0, "info"), (30, "critical"),
                                                         (60, "critical")]  # fmt: skip


def test_a_mark_is_told_from_its_second_value_on():
    def boot(at):
        return replace(ECC, mode=Mode.MARK, value=float(at), least=60.0, message="started")

    assert [at for at, *_ in looks(boot(1_000), boot(1_003), boot(9_000))] == [30]


def test_a_late_look_changes_nothing():
    held = change({}, Look("dcgm", "a01", 100 * NS, (HOT,))).put
    late = change(held, Look("dcgm", "a01", 99 * NS, (level(""),)))
    assert (late.events, late.late, late.drop) == ([], 1, set())


@given(st.lists(st.sampled_from(["", "warning", "error", "near"]), max_size=30))
def test_each_state_that_began_ends_before_the_next_begins(levels):
    told = looks(*(level("", near=True) if one == "near" else level(one) for one in levels))
    begun = [at for at, _, ended, _ in told if ended is None]
    ended = [(at, end) for at, _, end, _ in told if end is not None]
    assert [at for at, _ in ended] == begun[: len(ended)]
    assert len(begun) - len(ended) in (0, 1)
    assert all(end <= begun[n + 1] for n, (_, end) in enumerate(ended) if n + 1 < len(begun))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_no_rise_is_lost(values):
    told = looks(*map(count, values))
    rises = [b for a, b in pairwise(values) if b > a or 0 < b < a]
    assert len(told) - (values[0] > 0) == len(rises)


def test_a_filesystem_that_is_meant_to_be_read_only_is_no_fault_and_one_that_turns_so_is():
    (watched,) = meaning.WATCHED["node_filesystem_readonly"]

    def told(*values):
        labels = {"mountpoint": "/data", "fstype": "nfs4"}
        return looks(*(meaning.reading("readonly", watched, labels, v) for v in values))

    assert [one[1] for one in told(1, 1, 1)] == ["info"]
    assert [one[:2] for one in told(0, 1, 1)] == [(15, "error")]
