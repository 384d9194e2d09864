"""metrics.domain.straggling: which rank makes the others wait."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.metrics.domain import straggling
from apps.metrics.domain.rank_signals import PARTS, Meaning, signal_of
from apps.metrics.domain.straggling import SignalStates
from apps.metrics.records import Points
from tests.metric_samples import points_of_ranks, recorded_points

NOISE = 0.01


def times(usual_s, *, steps=30, ranks=16, seed=0):
    """Seconds of one part of a step, a row a logged step."""
    random = np.random.default_rng(seed)
    return usual_s * (1 + NOISE * random.standard_normal((steps, ranks)))


def judge(tables, states=None, *, steps=slice(None), ranks=16):
    """Findings about tables by series; `steps`: rows that are looked at now."""
    logged = [
        (signal_of(name), points_of_ranks(table[steps], first_step=10 * (steps.start or 0)))
        for name, table in tables.items()
    ]
    return straggling.judge(states or SignalStates(), logged, 0, ranks)


@pytest.mark.parametrize(
    ("series", "by", "part", "words"),
    [
        ("rank/data_time", 0.2, "data", "longer to get its data"),
        ("rank/compute_time", 0.2, "compute", "it computes "),
        ("rank/comm_time", -0.2, "communication", "less for the others, so they wait for it"),
    ],
)
def test_a_slow_rank_is_named_with_the_part_that_is_slow(series, by, part, words):
    tables = {"rank/data_time": times(0.3), "rank/compute_time": times(0.4, seed=1),
              "rank/comm_time": times(0.3, seed=2)}  # fmt: skip
    tables[series][12:, 5] += by

    (found,) = judge(tables)

    assert (found.kind, found.severity, found.rank) == ("straggler", "warn", 5)
    assert (found.onset_step, found.facts["last_normal_step"]) == (120, 110)
    assert found.closed_step is None
    assert found.facts["part"] == part
    assert words in found.title
    assert found.facts["extra_s"] == pytest.approx(0.2, rel=0.1)
    assert found.facts["lost_ratio"] == pytest.approx(0.2, rel=0.1)
    assert [(s.rank, s.fault_class) for s in found.suspects] == [(5, "straggler")]


def test_the_cost_is_what_all_ranks_waited():
    tables = {"rank/data_time": times(0.3), "rank/compute_time": times(0.7, seed=1)}
    tables["rank/data_time"][10:15, 5] += 0.36
    found = judge(tables)[-1]

    assert (found.closed_step, found.facts["since_step"]) == (190, 100)
    assert found.facts["lost_gpu_hours"] == pytest.approx(0.36 * 50 * 16 / 3600, rel=0.05)


def test_total_step_time_names_nobody():
    table = times(0.5)
    table[10:, 5] *= 1.5
    assert judge({"rank/step_time": table}) == []


def test_too_little_to_tell_is_not_told():
    """A rank that needs 3 % of a step more."""
    tables = {"rank/data_time": times(0.001), "rank/compute_time": times(1.0, seed=1)}
    tables["rank/data_time"][10:, 5] += 0.03
    assert judge(tables) == []


def test_ranks_of_one_pipeline_stage_that_always_need_longer_are_no_stragglers():
    table = times(0.5)
    table[:, :4] *= 1.4
    assert {f.severity for f in judge({"rank/compute_time": table})} == {"info"}


def test_one_rank_that_was_slow_from_the_start_is_told_with_less_confidence():
    table = times(0.5)
    table[:, 4] *= 1.4
    (found,) = judge({"rank/compute_time": table})
    assert (found.severity, found.suspects[0].confidence) == ("warn", 0.5)


def test_a_single_slow_step_is_no_straggler():
    table = times(0.5)
    table[10, 4] *= 9
    table[14, 4] *= 9
    assert judge({"rank/data_time": table}) == []


def test_what_is_no_number_was_not_logged():
    table = times(0.5)
    table[8:, 4] = np.nan
    assert judge({"rank/data_time": table}) == []


@given(cuts=st.lists(st.integers(0, 30), max_size=5).map(sorted))
@settings(max_examples=10, deadline=None)
def test_where_it_is_cut_does_not_matter(cuts):
    """Also where only the clock says how long a step is."""
    table = times(0.02)
    table[12:20, 3] += 0.2
    state, found = SignalStates(), {}
    for first, last in zip([0, *cuts], [*cuts, 30], strict=True):
        part = judge({"rank/data_time": table}, state, steps=slice(first, last))
        found |= {finding.key: finding.onset_step for finding in part}
        state = straggling.load(straggling.dump(state))
    assert found == {"straggler:rank/data_time:a0:r3:s120": 120}


@pytest.mark.parametrize(("unit", "factor"), [("_ms", 1e3), ("_us", 1e6), ("_s", 1.0)])
def test_the_unit_of_the_times_does_not_matter(unit, factor):
    table = times(0.5)
    table[10:, 7] *= 1.3
    (found,) = judge({f"rank/compute_time{unit}": table * factor})
    assert (found.rank, found.onset_step) == (7, 100)
    assert found.facts["extra_s"] == pytest.approx(0.15, rel=0.1)


def test_what_a_number_means_is_read_from_its_name_or_said():
    assert signal_of("rank/forward-compute").meaning is Meaning.COMPUTE
    assert signal_of("rank/mem").meaning is Meaning.NONE
    assert signal_of("rank/mem", {"rank/mem": "signal"}).meaning is Meaning.SIGNAL
    assert Meaning.TOTAL not in PARTS


def test_the_recorded_straggler_is_named_by_its_rank_logs_alone():
    """Rank 6 on gpu-b02 lost 0.25 s a step in steps 250 to 349."""
    tables = recorded_points("slow", "rank/data_time", "rank/compute_time")
    found = straggling.judge(SignalStates(), tables, 0, 8)

    assert {(f.rank, f.onset_step, f.facts["part"]) for f in found} == {(6, 250, "data")}
    assert found[-1].facts["lost_gpu_hours"] == pytest.approx(0.25 * 100 * 8 / 3600, rel=0.01)


def test_an_empty_look_changes_nothing():
    none = Points(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int32))
    assert straggling.judge(SignalStates(), [(signal_of("rank/data_time"), none)], 0, 8) == []


def test_a_step_that_is_timed_under_two_names_is_not_twice_as_long():
    timed = [
        (signal_of(name), points_of_ranks(times(1.0, steps=2), first_step=0))
        for name in ("rank/step_time", "rank/iteration_time")
    ]
    assert straggling.paces(timed)[0] == pytest.approx(1.0, rel=0.05)
