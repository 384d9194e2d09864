"""Web, the writer, Valkey and Postgres end while the real `wandb` clients log into them."""

import signal

import pytest

from tests.stack import until
from tests.wandb_client import VERSIONS, finish

LOG = """
import os, time, wandb
run = wandb.init(project="restarts", id="RUN")
step = 0
while not os.path.exists("RUN-enough"):
    run.log({"loss": float(step)})
    step += 1
    time.sleep(0.05)
run.finish()
print("logged", step, flush=True)
"""
OFTEN = {"WANDB_X_FILE_STREAM_TRANSMIT_INTERVAL": "1"}
RUNS = [f"restart-{version}" for version in VERSIONS]


def web_is_restarted(stack):
    stack.kill("web", signal.SIGTERM)
    stack.start_web()


def web_is_killed(stack):
    stack.kill("web")
    stack.start_web()


def the_writer_is_restarted(stack):
    stack.kill("writer", signal.SIGTERM)
    stack.start_writer()


def the_writer_is_killed(stack):
    stack.kill("writer")
    stack.start_writer()


def valkey_is_killed(stack):
    stack.valkey.kill()
    stack.valkey.start()


def postgres_is_killed(stack):
    stack.postgres.kill()
    stack.postgres.start()


TROUBLE = [
    web_is_restarted,
    web_is_killed,
    the_writer_is_restarted,
    the_writer_is_killed,
    valkey_is_killed,
    postgres_is_killed,
]


def last_steps(stack):
    return [stack.get(f"runs/{run}").get("last_step") or -1 for run in RUNS]


def wait_for_new_steps(stack):
    before = last_steps(stack)
    until(
        lambda: all(now > then for now, then in zip(last_steps(stack), before, strict=True)),
        f"steps after {before}",
    )


@pytest.fixture(scope="module")
def troubled(stack, wandbs):
    """run -> how its client ended; both logged through all the trouble."""
    clients = {
        run: wandbs[version].start(LOG.replace("RUN", run), **OFTEN)
        for run, version in zip(RUNS, VERSIONS, strict=True)
    }
    for trouble in TROUBLE:
        wait_for_new_steps(stack)
        trouble(stack)
    wait_for_new_steps(stack)
    for run, version in zip(RUNS, VERSIONS, strict=True):
        (wandbs[version].home / f"{run}-enough").touch()
    ended = {run: finish(client) for run, client in clients.items()}
    until(lambda: all(stack.drained(run) for run in RUNS), "the writer to catch up")
    return ended


@pytest.mark.parametrize("run", RUNS)
def test_the_client_ends_well_and_worries_nobody(troubled, run):
    assert (troubled[run].code, troubled[run].worries) == (0, []), troubled[run].said


@pytest.mark.parametrize("run", RUNS)
def test_each_step_is_stored_once(stack, troubled, run):
    logged = int(troubled[run].said.rpartition("logged ")[2])
    assert stack.steps_of(run, ["loss"]) == {"loss": [*range(logged)]}
    counters = stack.counters(run)
    assert (counters.get("gaps", 0), counters.get("quarantined", 0)) == (0, 0)
    found = stack.get(f"runs/{run}")
    assert (found["state"], len(found["attempts"])) == ("finished", 1)
