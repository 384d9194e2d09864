"""logs.domain.facts"""

import math

import pytest

from apps.logs.domain.reading.facts import step_of
from apps.logs.domain.reading.lines import ParsePolicy
from tests.log_samples import console, parse

HEAD = "2026-11-29 19:51:21.906 [INFO] [rank5] train: "


@pytest.mark.parametrize(
    ("message", "step"),
    [
        (" iteration       10/    1500 | consumed", 10),
        ("train: step 710 local_loss=1.4", 710),
        ("step:  40001  loss:  2.31", 40001),
        ('{"event": "timing", "step": 17, "rank": 3}', 17),
        ("elapsed time per iteration (ms): 48.8", None),
        ("saved checkpoint /runs/x/checkpoints/step-50 in 0.4 s", None),
        ("step_time=0.4", None),
        ("learning rate step 0.5", None),
        ("", None),
    ],
)
def test_the_step_of_a_message(message, step):
    assert step_of(message) == step


def test_values_of_one_rank_get_its_rank():
    line = HEAD + "step 700 local_loss=1.40494 data_time=0.0004 compute_time=2e-3 mem=0.73GiB\n"
    (row,) = parse(line).metrics
    assert (row.step, row.rank) == (700, 5)
    assert row.values == {
        "rank/local_loss": 1.40494,
        "rank/data_time": 0.0004,
        "rank/compute_time": 0.002,
    }


def test_a_value_that_is_no_number_stays_what_it_is():
    (row,) = parse(HEAD + "step 7 local_loss=nan a=-inf b=1_0 c=x1\n").metrics
    assert math.isnan(row.values["rank/local_loss"])
    assert row.values["rank/a"] == -math.inf
    assert set(row.values) == {"rank/local_loss", "rank/a"}


def test_values_of_an_unknown_rank_are_not_job_values():
    assert parse("step 700 local_loss=1.4\n").metrics == []


def test_console_copies_give_no_second_value():
    line = "[default1]:" + HEAD + "step 700 local_loss=1.4\n"
    assert console(line).metrics == []
    assert len(console(line, policy=ParsePolicy(alone=True)).metrics) == 1


def test_a_rank_says_where_it_runs():
    text = HEAD + (
        "process group ready: backend=gloo world_size=8 host=gpu-b02 pid=3054 device=NVIDIA H200\n"
    )
    (fact,) = parse(text).placements
    assert (fact.rank, fact.node, fact.local_rank) == (5, "gpu-b02", 1)
    assert (fact.pid, fact.world_size, fact.device) == (3054, 8, "NVIDIA H200")


def test_an_init_line_without_host_takes_the_agents_node():
    (fact,) = parse(
        "[2026-11-29 19:07:35,348] [INFO] [rank 2] init done world=4 pid=28710\n"
    ).placements
    assert (fact.rank, fact.node, fact.pid, fact.world_size) == (2, "gpu-b02", 28710, 4)


@pytest.mark.parametrize(
    "line",
    [HEAD + "step 700 local_loss=1.40494", "steps: 10 loss: 8.1234 iter time (s): 0.123"],
)
def test_a_line_that_is_not_whole_tells_no_numbers(line):
    """Its last number may be cut: 1.4 is not 1.40494."""
    assert len([*parse(line).metrics, *parse(line).job]) == 1
    cut = parse(f"step 1 begins\n{line[:-3]}", partial=True)
    assert (cut.metrics, cut.job, len(cut.lines)) == ([], [], 2)
