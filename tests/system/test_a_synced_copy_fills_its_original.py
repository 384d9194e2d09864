"""`wandb sync` of what was logged live: gaps are filled, nothing is doubled, nothing ends."""

from dataclasses import replace

import pytest

from tests.stack import until
from tests.system.test_each_wandb_process_is_an_attempt import attempts, points
from tests.wandb_client import HISTORY, Proxy, finish

ACK = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    b"Connection: close\r\n\r\n{}"
)
LOG = """
import time, wandb
run = wandb.init(project="copies", id="{run}", resume={resume!r},
                 settings=wandb.Settings(x_file_stream_transmit_interval=1.0))
for n in range(40):
    run.log({{"loss": float(n)}})
    time.sleep(0.1)
run.alert("watch", "this")
print("printed by {run}")
run.finish()
"""


def losing(*numbers):
    """A server that acknowledges these posts of history, counted from 1, and loses them."""
    seen = []

    def fault(_, kind):
        if kind != HISTORY:
            return None
        seen.append(kind)
        return ACK if len(seen) in numbers else None

    return fault


@pytest.fixture
def client(wandb, tmp_path):
    return replace(wandb, home=tmp_path)


def run_losing(stack, client, script, *numbers):
    proxy = Proxy(stack, losing(*numbers))
    done = replace(client, url=proxy.url).run(script)
    proxy.close()
    assert done.code == 0, done.said


def lines(stack, run):
    found = stack.get(f"runs/{run}/logs?limit=100")["items"]
    return [line["text"] for line in found if line["text"] == f"printed by {run}"]


def counted(stack, run, *names):
    counters = stack.counters(run)
    return tuple(counters.get(name, 0) for name in names)


def missing(stack, run):
    until(lambda: stack.drained(run), "the writer to catch up")
    return counted(stack, run, "missing_lines")[0]


def test_acknowledged_lines_that_were_lost_come_back(stack, client):
    run_losing(stack, client, LOG.format(run="lossy", resume=None), 2)
    lost = missing(stack, "lossy")
    assert 0 < lost == 40 - len(points(stack, "lossy"))
    (gap,) = stack.get("runs/lossy/ingest")["missing"]
    assert (gap["lines"], gap["attempt"]) == (lost, 0)
    assert gap["command"].endswith(f" {client.home}/wandb/run-*-lossy")
    assert finish(client.start_sync_online()).code == 0
    assert missing(stack, "lossy") == 0
    assert stack.get("runs/lossy/ingest")["missing"] == []
    assert (attempts(stack, "lossy"), points(stack, "lossy")) == ([(0, 0, 39)], [*range(40)])
    assert counted(stack, "lossy", "quarantined", "wandb_alerts", "repeated_alerts") == (0, 2, 1)
    assert lines(stack, "lossy") == ["printed by lossy"]


def test_each_process_of_a_resumed_run_gets_its_own_lines_back(stack, client):
    script = LOG.format(run="resumed-lossy", resume="allow")
    for _ in range(2):
        run_losing(stack, client, script, 2)
    assert missing(stack, "resumed-lossy") == 80 - len(points(stack, "resumed-lossy")) > 0
    done = finish(client.start_sync_online())
    assert done.code == 0, done.said
    assert missing(stack, "resumed-lossy") == 0
    assert attempts(stack, "resumed-lossy") == [(0, 0, 39), (1, 40, 79)]
    assert points(stack, "resumed-lossy") == [*range(80)]
    assert lines(stack, "resumed-lossy") == ["printed by resumed-lossy"] * 2


def test_a_process_killed_and_synced_twice_is_whole_and_once(stack, client):
    killed = LOG.format(run="killed", resume=None).replace("run.finish()", "time.sleep(60)")
    process = client.start(killed)
    until(lambda: (stack.get("runs/killed").get("last_step") or 0) > 20, "half of the steps")
    process.kill()
    finish(process)
    for _ in range(2):
        finish(client.start_sync_online())
    until(lambda: stack.drained("killed"), "the writer to catch up")
    found = points(stack, "killed")
    assert (len(attempts(stack, "killed")), found) == (1, [*range(len(found))])
    assert missing(stack, "killed") == 0


def test_a_copy_of_a_running_process_does_not_end_it(stack, client):
    script = LOG.format(run="running", resume=None).replace("range(40)", "range(120)")
    process = client.start(script)
    until(lambda: (stack.get("runs/running").get("last_step") or 0) > 20, "the first steps")
    finish(client.start_sync_online())
    until(lambda: stack.drained("running"), "the writer to catch up")
    assert stack.get("runs/running")["state"] == "running"
    assert finish(process).code == 0
    until(lambda: stack.get("runs/running")["state"] == "finished", "the end")
    assert points(stack, "running") == [*range(120)]
    assert len(attempts(stack, "running")) == 1
