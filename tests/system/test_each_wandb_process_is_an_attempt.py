"""Resumed, started again under its id, synced: each process of `wandb` has the right attempt."""

import pytest

from tests.stack import until
from tests.wandb_client import finish

RUN = """
import sys, wandb
run = wandb.init(project="attempts", id="{run}", resume={resume!r}, config={{"lr": 0.1}})
for _ in range(10):
    run.log({{"loss": 1.0}})
print("printed by {run}")
run.finish()
"""
OFFLINE = RUN.format(run="synced", resume=None)


def attempts(stack, run):
    until(lambda: stack.drained(run), "the writer to catch up")
    found = stack.get(f"runs/{run}/attempts")["items"]
    return [(a["number"], a["first_step"], a["last_step"]) for a in found]


def points(stack, run):
    return sorted(
        step
        for window in stack.get(f"runs/{run}/series?keys=loss&points=4000")["series"]
        for step, count in zip(window["step"], window["count"], strict=True)
        for _ in range(count)
    )


@pytest.fixture(scope="module")
def resumed(stack, wandb):
    first = wandb.run(RUN.format(run="resumed", resume="allow"))
    return first, wandb.run(RUN.format(run="resumed", resume="must"))


def test_a_resumed_run_goes_on_where_it_ended(stack, resumed):
    assert [(done.code, done.complaints) for done in resumed] == [(0, []), (0, [])]
    assert attempts(stack, "resumed") == [(0, 0, 9), (1, 10, 19)]
    assert points(stack, "resumed") == [*range(20)]


def test_what_is_resumed_has_no_gap(stack, resumed):
    counters = stack.counters("resumed")
    assert (counters.get("gaps", 0), counters.get("repeated_lines", 0)) == (0, 0)


def test_resuming_what_does_not_exist_is_refused_by_the_client(wandb):
    done = wandb.run(RUN.format(run="never-was", resume="must"))
    assert (done.code, "never-was" in done.said) == (1, True)


def test_a_second_process_under_one_id_opens_an_attempt(stack, wandb):
    ended = [wandb.run(RUN.format(run="again", resume=None)) for _ in range(2)]
    assert [done.complaints for done in ended] == [[], []]
    assert attempts(stack, "again") == [(0, 0, 9), (1, 0, 9)]
    assert points(stack, "again") == sorted([*range(10), *range(10)])


def test_a_folder_synced_twice_is_stored_once(stack, wandb):
    assert wandb.run(OFFLINE, WANDB_MODE="offline").code == 0
    assert wandb.sync().code == 0
    assert "Finished syncing" in wandb.sync("--no-skip-synced").said
    assert attempts(stack, "synced") == [(0, 0, 9)]
    assert points(stack, "synced") == [*range(10)]
    counters = stack.counters("synced")
    assert counters.get("duplicate_batches", 0) + counters.get("repeated_lines", 0) > 0
    assert counters.get("quarantined", 0) == 0


def test_writers_of_a_shared_run_have_one_attempt(stack, wandb):
    script = RUN.format(run="shared", resume=None).replace(
        "wandb.init(", 'wandb.init(settings=wandb.Settings(mode="shared"), '
    )
    clients = [wandb.start(script) for _ in range(4)]
    assert [finish(client).code for client in clients] == [0, 0, 0, 0]
    assert attempts(stack, "shared") == [(0, 0, 9)]
    assert points(stack, "shared") == sorted([*range(10)] * 4)


def test_an_id_of_another_project_is_refused(stack, wandb, resumed):
    other = RUN.format(run="resumed", resume=None).replace('"attempts"', '"other"')
    done = wandb.run(other)
    assert (done.code, "is taken by the project" in done.said) == (1, True)
    assert stack.get("runs/resumed")["project"] == "attempts"
