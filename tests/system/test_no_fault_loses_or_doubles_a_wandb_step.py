"""Answers lost, 429, 500, the server away: every step of the real `wandb` client is stored once."""

from dataclasses import replace

import pytest

from tests.stack import until
from tests.wandb_client import BROKEN, BUSY, Proxy, finish

STEPS = 60
LOG = f"""
import time, wandb
run = wandb.init(project="faults", id="RUN",
                 settings=wandb.Settings(x_file_stream_transmit_interval=1.0))
for step in range({STEPS}):
    run.log({{"loss": float(step)}})
    time.sleep(PAUSE)
run.finish()
"""


def script(run, pause_s=0.05):
    return LOG.replace("RUN", run).replace("PAUSE", str(pause_s))


class Times:
    """Says `answer` to the requests with these numbers, counted from 1."""

    def __init__(self, answer, *numbers):
        self.answer, self.numbers, self.seen = answer, numbers, 0

    def __call__(self, request):
        self.seen += 1
        return self.answer if self.seen in self.numbers else None


FAULTS = {
    "lost-answer": (Proxy.CUT, 1, 3),
    "busy": (BUSY, 2, 3),
    "broken": (BROKEN, 1, 3),
}


@pytest.fixture(scope="module")
def faulty(stack, wandb):
    """run -> (how its client ended, its faults), all at the same time."""
    faults = {run: Times(*fault) for run, fault in FAULTS.items()}
    proxies = {run: Proxy(stack, fault) for run, fault in faults.items()}
    clients = {
        run: replace(wandb, url=proxy.url).start(script(run)) for run, proxy in proxies.items()
    }
    ended = {run: (finish(client), faults[run]) for run, client in clients.items()}
    yield ended
    [proxy.close() for proxy in proxies.values()]


def assert_each_step_once(stack, run):
    until(lambda: stack.drained(run), "the writer to catch up")
    assert stack.steps_of(run, ["loss"]) == {"loss": [*range(STEPS)]}
    counters = stack.counters(run)
    assert (counters.get("gaps", 0), counters.get("quarantined", 0)) == (0, 0)
    assert stack.get(f"runs/{run}")["state"] == "finished"


@pytest.mark.parametrize("run", sorted(FAULTS))
def test_a_faulty_way(stack, faulty, run):
    done, fault = faulty[run]
    assert (done.code, fault.seen > max(fault.numbers)) == (0, True), done.said
    assert_each_step_once(stack, run)


def test_lines_whose_answer_was_lost_came_again(stack, faulty):
    until(lambda: stack.drained("lost-answer"), "the writer to catch up")
    counters = stack.counters("lost-answer")
    assert counters.get("repeated_lines", 0) + counters.get("duplicate_batches", 0) > 0


def test_the_server_away(stack, wandb):
    client = wandb.start(script("away", pause_s=0.1))
    until(lambda: (stack.get("runs/away").get("last_step") or 0) > 2, "the first steps")
    stack.kill("web")
    assert client.poll() is None
    stack.start_web()
    done = finish(client)
    assert done.code == 0, done.said
    assert_each_step_once(stack, "away")
