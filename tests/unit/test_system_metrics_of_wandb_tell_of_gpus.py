"""Temperature, memory errors and clocks that a `wandb` process logs of its host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.wandb.health import looks
from apps.ingest.wandb.said import SystemSample
from apps.nodes.domain.conditions import change

NS = 10**9


def told(*samples, node="gpu-a01"):
    """Events of samples taken every 15 seconds, as (second, kind, severity, device)."""
    held, events = {}, []
    said = [SystemSample(15 * i * NS, values) for i, values in enumerate(samples)]
    for look in looks(node, said):
        found = change(held, look)
        events += found.events
        held = {k: v for k, v in {**held, **found.put}.items() if k not in found.drop}
    return [(e.time_ns // NS, e.kind, e.severity, e.device, e.ended_ns) for e in events]


def clocks(*mhz, busy=99.0):
    return {
        key: value
        for gpu, clock in enumerate(mhz)
        for key, value in ((f"system/gpu.{gpu}.smClock", clock), (f"system/gpu.{gpu}.gpu", busy))
    }


def test_a_hot_gpu_is_hot_until_it_has_cooled_down():
    hot = [{"system/gpu.3.temp": degrees} for degrees in (70.0, 88.0, 86.0, 80.0)]
    assert told(*hot) == [
        (15, "thermal", "warning", "GPU 3", None),
        (15, "thermal", "warning", "GPU 3", 45 * NS),
    ]


def test_a_memory_error_that_was_not_corrected_is_critical():
    errors = [{"system/gpu.1.uncorrectedMemoryErrors": count} for count in (0.0, 0.0, 2.0)]
    assert told(*errors) == [(30, "ecc", "critical", "GPU 1", None)]


def test_a_gpu_that_runs_slower_than_the_others_of_its_host_is_named():
    usual, slow = clocks(1980, 1980, 1975, 1980), clocks(1980, 1980, 1200, 1980)
    assert told(usual, slow, slow, usual) == [
        (15, "slow_clock", "warning", "GPU 2", None),
        (15, "slow_clock", "warning", "GPU 2", 45 * NS),
    ]


@pytest.mark.parametrize(
    "values",
    [
        clocks(1980, 1980, 345, 1980, busy=0.0),
        clocks(1980, 1200),
        {"system/gpu.0.temp": float("nan"), "system/gpu.1.temp": float("-inf")},
        {"system/gpu.process.0.temp": 99.0, "system/cpu": 99.0, "system/gpu.x.temp": 99.0},
    ],
    ids=["idle", "too few to compare", "no numbers", "no GPU"],
)
def test_nothing_is_made_of_it(values):
    assert told(values, values) == []


def test_a_label_of_a_process_does_not_hide_its_gpu():
    assert told({"system/gpu.0.temp/l:rank 7": 93.0})[0][1:4] == ("thermal", "warning", "GPU 0")


def test_a_process_that_has_not_said_its_host_tells_of_none():
    assert told({"system/gpu.0.temp": 93.0}, node="") == []


@given(
    st.lists(st.floats(1_000, 2_000), min_size=4, max_size=16),
    st.sampled_from([0.25, 0.5, 2.0, 4.0]),
)
def test_slow_is_a_matter_of_ratios(mhz, factor):
    scaled = clocks(*[clock * factor for clock in mhz])
    assert [e[3] for e in told(clocks(*mhz))] == [e[3] for e in told(scaled)]
