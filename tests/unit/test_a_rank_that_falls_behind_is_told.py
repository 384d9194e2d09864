"""logs.domain.triage.silent."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.triage.silent import DEFAULT_POLICY, RankPulse, silent, steps_behind

S = 1_000_000_000
NOW = 1_800_000_000 * S
PACE = 5 * S


def crowd(ranks=16, step=500, **fields):
    """Ranks on hosts of four that have just said a step."""
    return [
        RankPulse(rank, f"gpu-{rank // 4:02}", step, NOW - 2 * S, PACE, **fields)
        for rank in range(ranks)
    ]


def behind(pulses, ranks, *, step=300, ago_s=400.0):
    """The crowd in which some ranks said a smaller step last, a while ago."""
    late = {"step": step, "time_ns": NOW - int(ago_s * S)}
    return [replace(p, **late) if p.rank in ranks else p for p in pulses]


def told(pulses, standing=(), now_ns=NOW):
    return silent(pulses, 0, now_ns, standing)


def test_one_silent_rank_is_a_warning_with_its_host_and_step():
    (found,) = told(behind(crowd(), {5}))

    assert (found.kind, found.severity, found.rank, found.node) == (
        "silent_rank", "warn", 5, "gpu-01",
    )  # fmt: skip
    assert found.title == "rank 5 silent since step 300; the others are at step 500"
    assert (found.onset_step, found.onset_time_ns) == (300, NOW - 400 * S)


def test_all_ranks_of_a_host_are_one_warning():
    (found,) = told(behind(crowd(), {4, 5, 6, 7}))
    assert (found.rank, found.node) == (None, "gpu-01")
    assert found.title.startswith("all 4 ranks of gpu-01 silent since step 300")


def test_many_ranks_of_many_hosts_are_one_warning_that_accuses_nobody():
    (found,) = told(behind(crowd(256), {4 * host for host in range(20)}))
    assert (found.rank, found.node, found.suspects) == (None, None, ())
    assert found.title.startswith("20 ranks of 256 silent")


def test_a_job_that_stands_still_is_told_by_the_rank_that_never_came_so_far():
    """All others wait in the collective of step 500 and say nothing either."""
    pulses = [replace(p, time_ns=NOW - 200 * S) for p in crowd()]
    (found,) = told(behind(pulses, {5}, step=490, ago_s=210))
    assert (found.rank, found.onset_step) == (5, 490)


@pytest.mark.parametrize(
    "pulses",
    [
        [],
        crowd(),
        crowd(1),
        behind(crowd(3), {1}),
        behind(crowd(), {5}, ago_s=60),
        behind(crowd(), {5}, step=500),
        behind(crowd(), set(range(8))),
        [replace(p, pace_ns=60 * S) for p in behind(crowd(), {5})],
        [replace(p, time_ns=p.time_ns - 7_200 * S) for p in behind(crowd(), {5})],
    ],
    ids=["none", "all well", "only rank 0 logs", "three ranks", "not for long", "same step",
         "half of the job", "a slow pace", "an import"],
)  # fmt: skip
def test_what_is_no_silent_rank(pulses):
    assert told(pulses) == []


def test_it_stays_told_until_it_has_caught_up():
    (first,) = told(behind(crowd(), {5}))
    (again,) = told(behind(crowd(), {5}, step=320, ago_s=70), [first.key])

    assert again.key == first.key
    assert told(behind(crowd(), {5}, step=320, ago_s=70)) == []
    assert told(behind(crowd(), {5}, step=320, ago_s=50), [first.key]) == []
    assert told(crowd(), [first.key]) == []


@given(
    ranks=st.integers(4, 64), rank=st.integers(0, 63), pace_s=st.floats(0.1, 600),
    order=st.randoms(use_true_random=False),
)  # fmt: skip
def test_exactly_the_planted_rank_is_told_in_any_order(ranks, rank, pace_s, order):
    pulses = [replace(p, pace_ns=int(pace_s * S)) for p in crowd(ranks)]
    ago_s = 1.01 * max(DEFAULT_POLICY.behind_s, DEFAULT_POLICY.behind_paces * pace_s)
    pulses = behind(pulses, {rank % ranks}, ago_s=ago_s)
    order.shuffle(pulses)
    assert [found.rank for found in told(pulses)] == [rank % ranks]


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 100)), min_size=4, max_size=64))
def test_ranks_that_said_a_step_lately_are_never_told(said):
    """Between two steps some ranks are one ahead."""
    pulses = [
        RankPulse(rank, "gpu-00", 500 + ahead, NOW - int(ago_s * S), PACE)
        for rank, (ahead, ago_s) in enumerate(said)
    ]
    assert told(pulses) == []


def test_the_median_step_needs_a_crowd():
    assert steps_behind([5, None, 6]) is None
    assert steps_behind([5, 6, 7, 100]) == 7
