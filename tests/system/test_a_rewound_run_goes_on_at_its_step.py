"""`wandb.init(resume_from=…)`: the run goes on at a lower step, what lies beyond is given up."""

import json

import pytest

from tests.stack import until
from tests.wandb_client import finish

LOG = """
import wandb
run = wandb.init(project="rewinds", id="back-again", config={"lr": 0.1})
for step in range(20):
    run.log({"loss": 1.0 + step}, step=step)
    run.log({"loss": 99.0}, step=step - 5) if step == 15 else None
run.finish()
"""
REWIND = """
import wandb
run = wandb.init(project="rewinds", resume_from="{run}?_step={step}", config={{"lr": 0.01}})
for _ in range({rows}):
    run.log({{"loss": -1.0}})
print("printed after it")
run.finish()
"""
READ = """
import json, wandb
run = wandb.Api().run("rewinds/back-again")
found = [[row["_step"], row["loss"]] for row in run.scan_history()]
print("FOUND", json.dumps([found, run.lastHistoryStep, run.historyLineCount, run.config]))
"""


def rewind(client, step, rows, run="back-again", **env):
    return client.run(REWIND.format(run=run, step=step, rows=rows), **env)


@pytest.fixture(scope="module")
def logged(wandb):
    return wandb.run(LOG)


@pytest.fixture(scope="module")
def rewound(stack, wandb, logged):
    done = rewind(wandb, 9, 3)
    until(lambda: stack.drained("back-again"), "the writer to catch up")
    return done


@pytest.fixture(scope="module")
def found(rewound, reader):
    """Steps and losses, newest step, number of lines, configuration, as `wandb.Api` reads them."""
    done = reader.run(READ)
    lines = [line for line in done.said.splitlines() if line.startswith("FOUND ")]
    assert lines, done.said
    return json.loads(lines[0].removeprefix("FOUND "))


def attempts(stack):
    found = stack.get("runs/back-again/attempts")["items"]
    return [(a["number"], a["parent"], a["fork_step"], a["last_step"]) for a in found]


def test_a_lower_step_in_one_process_is_dropped_by_the_client_itself(stack, logged, rewound):
    assert (logged.code, len(logged.complaints)) == (0, 1), logged.said
    assert "step 10 that is less than the current step 15" in logged.said
    assert losses(stack, 0) == [1.0 + step for step in range(20)]


def test_the_client_has_nothing_to_complain_of(rewound):
    assert (rewound.code, rewound.complaints) == (0, []), rewound.said


def losses(stack, attempt):
    series = stack.get(f"runs/back-again/series?keys=loss&points=4000&attempt={attempt}")["series"]
    return series[0]["last"]


def test_the_curve_that_was_given_up_stays_beside_the_new_one(stack, rewound):
    assert attempts(stack)[:2] == [(0, None, None, 19), (1, 0, 10, 12)]
    assert losses(stack, 1) == [-1.0] * 3
    assert len(losses(stack, 0)) == 20


def test_the_run_reads_back_as_old_steps_and_new_ones(found):
    rows, last, lines, config = found
    old = [[step, 1.0 + step] for step in range(10)]
    assert rows == [*old, [10, -1.0], [11, -1.0], [12, -1.0]]
    assert (last, lines, config) == (12, 13, {"lr": 0.01})


@pytest.mark.parametrize(
    ("run", "step", "why"),
    [("nobody", 9, 'there is no run "nobody"'), ("back-again", 21, "no attempt holds step 21")],
)
def test_what_cannot_be_rewound_is_refused_at_once(wandb, rewound, run, step, why):
    done = rewind(wandb, step, 1, run)
    assert (done.code, why in done.said) == (1, True), done.said


def test_folders_of_a_rewound_run_that_are_synced_again_double_nothing(stack, wandb, found):
    before = attempts(stack)
    finish(wandb.start_sync_online())
    until(lambda: stack.drained("back-again"), "the writer to catch up")
    counters = stack.counters("back-again")
    assert (attempts(stack), counters["rewinds"]) == (before, 1)
    assert counters["repeated_lines"] >= 23
    assert (counters.get("gaps", 0), counters.get("quarantined", 0)) == (0, 0)
    assert (len(losses(stack, 0)), len(losses(stack, 1))) == (20, 3)


def test_a_rewind_that_was_logged_offline_branches_off_when_it_is_synced(stack, wandb, found):
    """From attempt 0, which holds the step, and not from the one that began before it."""
    assert rewind(wandb, 4, 2, WANDB_MODE="offline").code == 0
    synced = finish(wandb.start_sync("back-again"))
    until(lambda: stack.drained("back-again"), "the writer to catch up")
    assert (synced.code, synced.complaints) == (0, []), synced.said
    assert attempts(stack)[2:] == [(2, 0, 5, 6)]
    assert losses(stack, 2) == [-1.0] * 2
    assert stack.counters("back-again")["rewinds"] == 2
