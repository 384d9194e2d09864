"""incidents.domain.blaming: suspects become blames of hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import NodeEvent, Suspect
from apps.incidents.domain.blaming import (
    AFTER_NS,
    BEFORE_NS,
    MAX_HOSTS,
    confirming,
    host_blames,
    share,
)
from apps.logs.domain.triage.classify import taxonomy

BLAME_OF = {"py_exception": "user_code", "cuda_error": "user_code_or_hardware"}
T0 = 1_796_000_000_000_000_000


def suspect(node="a", fault="xid_79", confidence=0.9, rank=1):
    return Suspect(rank, node, fault, confidence)


def event(time_ns=T0, kind="xid_79", severity="critical", node="a"):
    return NodeEvent(node, time_ns, kind, severity, "fallen off the bus", "0000:ae:00")


@pytest.mark.parametrize(
    ("fault", "blame", "part"),
    [
        ("xid_79", "lookup", 1.0),
        ("silent_data_corruption", "", 1.0),
        ("py_exception", "user_code", 0.0),
        ("cuda_error", "user_code_or_hardware", 0.5),
        ("x", "host_hardware_or_network", 0.75),
        ("x", "scheduler_or_agent", 0.0),
        ("x", "find_missing_rank", 0.5),
        ("unknown", "", 0.5),
    ],
)
def test_the_class_of_a_fault_says_how_much_may_be_the_hosts(fault, blame, part):
    assert share(fault, blame) == part


@pytest.mark.parametrize("fault", taxonomy().classes.values(), ids=lambda fault: fault.id)
def test_every_class_has_a_share(fault):
    assert 0 <= share(fault.id, fault.blame) <= 1


def test_a_bug_of_the_program_blames_nobody_and_is_kept():
    (found,) = host_blames([suspect(fault="py_exception")], BLAME_OF)
    assert (found.weight, found.suspected) == (0.0, False)


def test_hardware_that_speaks_at_the_same_time_outranks_what_the_program_was_taken_for():
    said = confirming([event()], T0)
    (found,) = host_blames([suspect(fault="py_exception")], BLAME_OF, said)
    assert (found.weight, found.suspected) == (0.9, True)
    assert found.confirmed_by == "xid_79 on 0000:ae:00: fallen off the bus"


def test_a_host_counts_by_its_heaviest_suspect():
    (found,) = host_blames([suspect(confidence=0.3), suspect(confidence=0.8, rank=7)], BLAME_OF)
    assert (found.weight, found.rank) == (0.8, 7)


def test_a_suspect_without_a_host_blames_none():
    assert host_blames([suspect(node=None)], BLAME_OF) == ()


@pytest.mark.parametrize(
    ("time_ns", "kind", "severity"),
    [
        (T0 - BEFORE_NS - 1, "xid_79", "critical"),
        (T0 + AFTER_NS + 1, "xid_79", "critical"),
        (T0, "xid_79", "warning"),
        (T0, "peermem", "error"),
        (T0, "oom_kill", "error"),
        (T0, "evicted", "error"),
        (T0, "preempted", "error"),
        (T0, "storage", "error"),
        (T0, "xid_31", "error"),
    ],
)
def test_what_confirms_nothing(time_ns, kind, severity):
    assert confirming([event(time_ns, kind, severity)], T0) == {}


@given(
    st.lists(
        st.builds(
            suspect,
            node=st.sampled_from("abcdef") | st.none(),
            fault=st.sampled_from(["xid_79", "py_exception", "cuda_error", "?"]),
            confidence=st.floats(-1, 2),
            rank=st.none() | st.integers(0, 99),
        ),
        max_size=30,
    )
)
def test_one_incident_never_blames_for_more_than_itself(suspects):
    found = host_blames(suspects, BLAME_OF)
    assert sum(one.weight for one in found) <= 1 + 1e-9
    assert len({one.node for one in found}) == len(found)
    assert [b.weight for b in found] == sorted((b.weight for b in found), reverse=True)
    assert {b.node for b in found} == {s.node for s in suspects if s.node}


def test_a_storm_blames_a_bounded_number_of_hosts():
    assert len(host_blames([suspect(node=f"n{n}") for n in range(500)], {})) == MAX_HOSTS
