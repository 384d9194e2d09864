"""Resumed, started again under its id, synced: each process of `wandb` has the right attempt.

The processes of all tests run at the same time, in three rounds.
"""

import pytest

from tests.stack import until
from tests.wandb_client import NEW, OLD, VERSIONS, finish

RUN = """
import wandb
run = wandb.init(project={project!r}, id="{run}", resume={resume!r}, config={{"lr": 0.1}})
for step in range({first}, {first} + 10):
    run.log({{"loss": 1.0}}, step=step)
print("printed by {run}")
run.finish()
"""
SHARED = RUN.replace("wandb.init(", 'wandb.init(settings=wandb.Settings(mode="shared"), ')
SYNC_AGAIN = {NEW: "--no-skip-synced", OLD: "--include-synced"}
each_version = pytest.mark.parametrize("version", VERSIONS)


def script(run, resume=None, *, first=0, project="attempts", text=RUN):
    return text.format(run=run, resume=resume, first=first, project=project)


def first_round(client):
    v = client.version
    return {
        "resumed": client.start(script(f"resumed-{v}", "allow")),
        "again": client.start(script(f"again-{v}")),
        "offline": client.start(script(f"synced-{v}"), WANDB_MODE="offline"),
        "missing": client.start(script("never-was", "must")),
    }


def second_round(client):
    v = client.version
    return {
        "resumed": client.start(script(f"resumed-{v}", "must", first=10)),
        "again": client.start(script(f"again-{v}", first=5)),
        "synced": client.start_sync(f"synced-{v}"),
    }


def third_round(client):
    """Two clients of one run id never start in one second: the folder of a run is named so."""
    v = client.version
    return {
        "synced": client.start_sync(f"synced-{v}", SYNC_AGAIN[v]),
        "taken": client.start(script(f"resumed-{v}", project="other")),
    }


@pytest.fixture(scope="module")
def ended(stack, wandbs):
    """version -> what was done -> how each process of it ended, in order."""
    found = {version: {} for version in VERSIONS}
    writers = [wandbs[NEW].start(script("shared", text=SHARED)) for _ in range(4)]
    for begin in (first_round, second_round, third_round):
        started = {version: begin(wandbs[version]) for version in VERSIONS}
        for version, clients in started.items():
            for name, client in clients.items():
                found[version].setdefault(name, []).append(finish(client))
    found[NEW]["shared"] = [finish(writer) for writer in writers]
    return found


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


@each_version
@pytest.mark.parametrize("done", ["resumed", "again", "synced"])
def test_no_client_has_anything_to_complain_of(ended, done, version):
    said = ended[version][done]
    assert {(one.code, *one.complaints) for one in said} == {(0,)}, said


@each_version
def test_a_resumed_run_goes_on_where_it_ended(stack, ended, version):
    run = f"resumed-{version}"
    assert attempts(stack, run) == [(0, 0, 9), (1, 10, 19)]
    assert points(stack, run) == [*range(20)]
    counters = stack.counters(run)
    assert (counters.get("gaps", 0), counters.get("repeated_lines", 0)) == (0, 0)


@each_version
def test_resuming_what_does_not_exist_is_refused_by_the_client(ended, version):
    (done,) = ended[version]["missing"]
    assert (done.code, "never-was" in done.said) == (1, True)


@each_version
def test_an_id_of_another_project_is_refused(stack, ended, version):
    (done,) = ended[version]["taken"]
    assert (done.code, "is taken by the project" in done.said) == (1, True), done.said
    assert stack.get(f"runs/resumed-{version}")["project"] == "attempts"


@each_version
def test_a_process_that_trains_steps_again_is_an_attempt_beside_the_first(stack, ended, version):
    run = f"again-{version}"
    assert attempts(stack, run) == [(0, 0, 9), (1, 5, 14)]
    assert points(stack, run) == sorted([*range(10), *range(5, 15)])


@each_version
def test_a_folder_synced_twice_is_stored_once(stack, ended, version):
    run = f"synced-{version}"
    assert attempts(stack, run) == [(0, 0, 9)]
    assert points(stack, run) == [*range(10)]
    counters = stack.counters(run)
    assert counters.get("duplicate_batches", 0) + counters.get("repeated_lines", 0) > 0
    assert counters.get("quarantined", 0) == 0


def test_writers_of_a_shared_run_have_one_attempt(stack, ended):
    assert [done.code for done in ended[NEW]["shared"]] == [0, 0, 0, 0]
    assert attempts(stack, "shared") == [(0, 0, 9)]
    assert points(stack, "shared") == sorted([*range(10)] * 4)
