"""logs.domain.triage on the clocks of several hosts: corrected, never silently."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.logs.domain.clock.skew import HostClock, StepTimes, host_clocks
from apps.logs.domain.triage.assemble import EventRow, Known, assemble
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.ordering import said_of_clocks
from apps.logs.domain.triage.ranks import RankState

S, MS = 10**9, 10**6
T0 = 1_796_000_000 * S
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB"
KEY = "KeyError: 'x'"
PEER = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:547] Connection closed by peer [192.0.2.1]:4"
HOSTS = ("a", "b", "c")
STEPS = np.arange(40, dtype=np.int64)
STEP_NS = S + 7  # stamps that look like whole seconds would be taken for such
hour = st.integers(-3_600 * S, 3_600 * S)


def row(node, rank, text, at_ns):
    return EventRow(T0 + at_ns, node, f"{node}/{rank}", "stderr", 5_000, rank % 2, rank, 40, text)


def state(node, rank):
    """A process whose last step was at T0."""
    values = {"last_ns": T0, "last_step": 39, "progress_ns": T0, "lines": 9}
    return RankState(
        node, f"local:{rank % 2}", rank, rank % 2, progress_source=f"{node}/{rank}", **values
    )


def judged(rows, off=None, uncertain=True):
    """The verdict if the clock of each host is so far ahead, and the clocks that were found."""
    off = off or {}
    moved = [replace(r, time_ns=r.time_ns + off.get(r.node, 0)) for r in rows]
    places = {(r.node, r.rank) for r in rows}
    states = [state(*place) for place in sorted(places)]
    for one in states:
        one.last_ns += off.get(one.node, 0)
        one.progress_ns += off.get(one.node, 0)
    times = {
        node: StepTimes(STEPS, T0 + (STEPS - 39) * STEP_NS + off.get(node, 0))
        for node in sorted({r.node for r in rows})
    }
    clocks = host_clocks(times) if uncertain else []
    return first_failure(assemble(moved, states, taxonomy(), Known(clocks=clocks)), taxonomy())


def told(verdict):
    """What a person would act on."""
    named = [(s.rank, s.node, s.fault_class, s.confidence) for s in verdict.suspects]
    return verdict.fault.id, verdict.confidence, verdict.tied, named


@settings(max_examples=30, deadline=None)
@given(
    hour,
    hour,
    hour,
    st.lists(
        st.tuples(st.sampled_from([OOM, KEY, PEER]), st.integers(1, 100)),
        min_size=2,
        max_size=6,
    ),
)
def test_a_constant_shift_of_each_host_changes_nothing(a, b, c, said):
    # No two at once: what is corrected is right to a nanosecond, and ties would flip by that.
    times = [at * 300 * MS + n * 7 * MS for n, (_, at) in enumerate(said)]
    rows = [row(HOSTS[n // 2], n, text, times[n]) for n, (text, _) in enumerate(said)]
    straight = judged(rows)
    shifted = judged(rows, {"a": a, "b": b, "c": c})
    assert told(shifted) == told(straight)


def test_the_first_is_first_although_its_clock_is_ahead():
    rows = [row("a", 0, OOM, 9 * S), row("b", 2, KEY, 1 * S), row("c", 4, PEER, 9 * S)]
    ahead = {"b": 60 * S}
    assert judged(rows, ahead).suspects[0].rank == 2
    assert judged(rows, ahead, uncertain=False).suspects[0].rank == 0


def test_a_line_of_a_host_that_is_behind_is_not_taken_for_old():
    rows = [row("a", 0, PEER, 2 * S), row("b", 2, OOM, 1 * S), row("a", 1, PEER, 2 * S)]
    verdict = judged(rows, {"b": -60 * S})
    assert verdict.suspects[0].rank == 2


def test_evidence_keeps_the_time_that_its_host_wrote():
    verdict = judged([row("a", 0, PEER, 2 * S), row("b", 2, OOM, 1 * S)], {"b": 8 * S})
    assert verdict.evidence[0].time_ns == T0 + 9 * S
    assert verdict.onset_ns == T0 + 5 * S  # of two hosts each is off by half


def clock(node, skew_ns, uncertainty_ns=10 * MS):
    return HostClock(node, skew_ns, uncertainty_ns, 40)


def test_what_the_clocks_leave_open_is_not_decided():
    rows = [row("a", 0, KEY, 1 * S), row("b", 2, KEY, 4 * S), row("a", 1, PEER, 5 * S)]
    states = [state("a", 0), state("b", 2), state("a", 1), state("b", 3)]

    def verdict(uncertainty_ns):
        clocks = [clock("a", 0, uncertainty_ns), clock("b", 0, uncertainty_ns)]
        return first_failure(assemble(rows, states, taxonomy(), Known(clocks=clocks)), taxonomy())

    assert verdict(100 * MS).tied == ()
    vague = verdict(1 * S)
    assert vague.tied == (0, 2)
    assert vague.confidence < verdict(100 * MS).confidence
    assert "too close to be ordered" in vague.why


def test_a_correction_is_never_silent():
    (said,) = said_of_clocks({"a": clock("a", 0), "b": clock("b", -1_800 * MS)}, ["a", "b"])
    assert said.startswith("Ordered after correcting b by +1.80 s ± 0.01 s, ")


@pytest.mark.parametrize(
    ("clocks", "said"),
    [
        ({"a": clock("a", 3 * MS), "b": clock("b", -3 * MS)}, "The clocks of the 2 hosts agree"),
        ({"a": clock("a", 0)}, "The clock of b could not be compared"),
        ({}, "The clock of a, b could not be compared"),
    ],
)
def test_what_is_known_of_the_clocks_is_said(clocks, said):
    assert said_of_clocks(clocks, ["b", "a"])[0].startswith(said)


def test_one_host_needs_no_clock():
    assert said_of_clocks({}, ["a"]) == ()
