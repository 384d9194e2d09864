"""Resumed, started again under its id, synced: each process of `wandb` has the right attempt."""

import pytest

from tests.stack import until
from tests.wandb_client import NEW, OLD, VERSIONS, finish

RUN = """
import sys, wandb
run = wandb.init(project="attempts", id="{run}", resume={resume!r}, config={{"lr": 0.1}})
for _ in range(10):
    run.log({{"loss": 1.0}})
print("printed by {run}")
run.finish()
"""
each_version = pytest.mark.parametrize("version", VERSIONS)


def script(run, resume=None):
    return RUN.format(run=run, resume=resume)


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


def at_once(wandbs, of):
    """version -> how the client that `of` starts ended."""
    clients = {version: of(wandbs[version]) for version in VERSIONS}
    return {version: finish(client) for version, client in clients.items()}


@pytest.fixture(scope="module")
def resumed(stack, wandbs):
    first = at_once(wandbs, lambda w: w.start(script(f"resumed-{w.version}", "allow")))
    second = at_once(wandbs, lambda w: w.start(script(f"resumed-{w.version}", "must")))
    return {version: (first[version], second[version]) for version in VERSIONS}


@each_version
def test_a_resumed_run_goes_on_where_it_ended(stack, resumed, version):
    assert [(done.code, done.complaints) for done in resumed[version]] == [(0, []), (0, [])]
    assert attempts(stack, f"resumed-{version}") == [(0, 0, 9), (1, 10, 19)]
    assert points(stack, f"resumed-{version}") == [*range(20)]


@each_version
def test_what_is_resumed_has_no_gap(stack, resumed, version):
    counters = stack.counters(f"resumed-{version}")
    assert (counters.get("gaps", 0), counters.get("repeated_lines", 0)) == (0, 0)


@pytest.fixture(scope="module")
def refused(wandbs, resumed):
    """What does not exist cannot be resumed; what another project has cannot be taken."""
    taken = script(f"resumed-{NEW}").replace('"attempts"', '"other"')
    missing = at_once(wandbs, lambda w: w.start(script("never-was", "must")))
    return missing, at_once(wandbs, lambda w: w.start(taken))


@each_version
def test_resuming_what_does_not_exist_is_refused_by_the_client(refused, version):
    done = refused[0][version]
    assert (done.code, "never-was" in done.said) == (1, True)


@each_version
def test_an_id_of_another_project_is_refused(stack, refused, version):
    done = refused[1][version]
    assert (done.code, "is taken by the project" in done.said) == (1, True), done.said
    assert stack.get(f"runs/resumed-{NEW}")["project"] == "attempts"


@pytest.fixture(scope="module")
def again(wandbs):
    first = at_once(wandbs, lambda w: w.start(script(f"again-{w.version}")))
    return first, at_once(wandbs, lambda w: w.start(script(f"again-{w.version}")))


@each_version
def test_a_second_process_under_one_id_opens_an_attempt(stack, again, version):
    assert [ended[version].complaints for ended in again] == [[], []]
    assert attempts(stack, f"again-{version}") == [(0, 0, 9), (1, 0, 9)]
    assert points(stack, f"again-{version}") == sorted([*range(10), *range(10)])


@pytest.fixture(scope="module")
def synced(wandbs):
    """version -> how two syncs of its offline folder ended."""
    more = {NEW: ["--no-skip-synced"], OLD: ["--include-synced"]}
    at_once(wandbs, lambda w: w.start(script(f"synced-{w.version}"), WANDB_MODE="offline"))
    first = at_once(wandbs, lambda w: w.start_sync(f"synced-{w.version}"))
    twice = at_once(wandbs, lambda w: w.start_sync(f"synced-{w.version}", *more[w.version]))
    return {version: (first[version], twice[version]) for version in VERSIONS}


@each_version
def test_a_folder_synced_twice_is_stored_once(stack, synced, version):
    run = f"synced-{version}"
    assert [(done.code, done.complaints) for done in synced[version]] == [(0, []), (0, [])]
    assert attempts(stack, run) == [(0, 0, 9)]
    assert points(stack, run) == [*range(10)]
    counters = stack.counters(run)
    assert counters.get("duplicate_batches", 0) + counters.get("repeated_lines", 0) > 0
    assert counters.get("quarantined", 0) == 0


def test_writers_of_a_shared_run_have_one_attempt(stack, wandb):
    shared = script("shared").replace(
        "wandb.init(", 'wandb.init(settings=wandb.Settings(mode="shared"), '
    )
    clients = [wandb.start(shared) for _ in range(4)]
    assert [finish(client).code for client in clients] == [0, 0, 0, 0]
    assert attempts(stack, "shared") == [(0, 0, 9)]
    assert points(stack, "shared") == sorted([*range(10)] * 4)
