"""apps.logs.domain.clock.skew"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.clock.skew import (
    ENTRY_BYTES,
    MIN_STEPS,
    HostClock,
    StepTimes,
    host_clocks,
    pack,
    unpack,
)

S, MS = 10**9, 10**6
T0 = 1_795_953_600 * S


def times(steps, off_ns=0, jitter_ns=0, seed=0):
    """A step every 2.55 s on a clock that is off."""
    noise = np.random.default_rng(seed).uniform(0, jitter_ns, len(steps)).astype(np.int64)
    step = np.array(steps, dtype=np.int64)
    return StepTimes(step, T0 + step * 2_550 * MS + off_ns + noise)


def skews(hosts):
    return {clock.node: clock.skew_ns for clock in host_clocks(hosts)}


def test_the_corpus_of_eight_hosts():
    off = {"a": -53, "b": -105, "c": 45, "d": -1_300, "e": 11, "f": 2_100, "g": -133, "h": 2}
    hosts = {n: times(range(60), ms * MS, 20 * MS, ord(n)) for n, ms in off.items()}
    found = {clock.node: clock for clock in host_clocks(hosts)}
    middle = np.median(list(off.values()))
    for name, ms in off.items():
        assert abs(found[name].skew_ns / MS - (ms - middle)) < 10
        assert 0.5 < found[name].uncertainty_ns / MS < 5
        assert found[name].steps == 60
    apart = {name for name, clock in found.items() if clock.apart}
    assert {"d", "f"} <= apart
    assert not apart & {"a", "c", "e", "h"}


def test_of_two_hosts_each_is_off_by_half():
    assert skews({"a": times(range(9)), "b": times(range(9), S)}) == {"a": -S // 2, "b": S // 2}


def test_too_few_shared_steps_say_nothing():
    few = {"a": times(range(10)), "b": times(range(10 - MIN_STEPS + 1, 30))}
    assert skews(few) == {"a": None, "b": None}
    assert skews({"a": times(range(99))}) == {"a": None}
    assert host_clocks({}) == []


def test_one_step_that_came_late_moves_nothing():
    late = times(range(30))
    late.time_ns[7] += 600 * S
    assert skews({"a": late, "b": times(range(30)), "c": times(range(30))})["a"] == 0


def test_stamps_of_whole_seconds_are_worth_half_a_second():
    whole = StepTimes(np.arange(50), T0 + np.arange(50) * 3 * S)
    (first, _) = host_clocks({"a": whole, "b": StepTimes(whole.step, whole.time_ns + S)})
    assert first == HostClock("a", -S // 2, S // 2, 50)
    assert not first.apart


@pytest.mark.parametrize("cut", [1, 7, 15])
def test_entries_that_were_cut_are_left_out(cut):
    body = pack({step: T0 + step for step in range(5)})
    assert unpack(body[cut:]).step.tolist() == [1, 2, 3, 4]
    assert len(body) == 5 * ENTRY_BYTES


FIRST = st.dictionaries(st.integers(0, 50), st.integers(0, 10**6), min_size=5, max_size=40)


@given(FIRST, FIRST)
def test_of_a_step_the_first_time_counts_whatever_the_batching(one, other):
    apart = unpack(pack(one) + pack(other))
    first = {step: min(d[step] for d in (one, other) if step in d) for step in one | other}
    other_host = StepTimes(apart.step, apart.time_ns + S)
    assert host_clocks({"a": apart, "b": other_host}) == host_clocks(
        {"a": unpack(pack(first)), "b": other_host}
    )


@given(
    st.dictionaries(
        st.sampled_from("abcdef"), st.integers(-(10**10), 10**10), min_size=2, max_size=6
    )
)
def test_a_clock_that_is_off_is_found_to_the_nanosecond_where_nothing_is_noisy(off):
    found = skews({name: times(range(20), ns) for name, ns in off.items()})
    middle = np.median(list(off.values()))
    assert all(abs(found[name] - (ns - middle)) <= 1 for name, ns in off.items())
