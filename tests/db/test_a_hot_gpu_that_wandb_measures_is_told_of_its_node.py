"""System metrics of a live `wandb` process, as events of the host that it named."""

import orjson
import pytest
from msgspec.structs import replace

from apps.ingest.digest import digest
from apps.ingest.wandb import process_store as processes
from apps.ingest.wandb.lines import EVENTS
from apps.nodes import store as nodes
from apps.runs import store as runs
from tests import factories

T0_S = 1_795_981_200


@pytest.fixture
def run(db):
    run_id = runs.ensure_run("r")
    runs.open_attempt(run_id, 0, factories.T0_NS)
    processes.add_process(run_id, 0, "r", factories.T0_NS)
    processes.identify(run_id, 0, "", processes.Identity(node="gpu-a01"))
    return run_id


def send(run, offset, *degrees):
    lines = [
        orjson.dumps({"_timestamp": T0_S + offset + i, "system.gpu.3.temp": value}).decode()
        for i, value in enumerate(degrees)
    ]
    body = orjson.dumps({"files": {EVENTS: {"offset": offset, "content": lines}}})
    batch = f"{offset}-{len(lines)}"
    digest([replace(factories.envelope("file_stream", body, run_id=run, batch=batch), attempt=0)])


def told():
    events = nodes.events(["gpu-a01"], 0, 2**62)
    return [(e.kind, e.device, e.source, e.ended_ns and e.ended_ns // 10**9 - T0_S) for e in events]


def test_it_is_one_event_that_ends_when_the_gpu_has_cooled_down(run):
    send(run, 0, 70, 91)
    assert told() == [("thermal", "GPU 3", "wandb", None)]
    send(run, 1, 91, 92, 75)
    assert told() == [("thermal", "GPU 3", "wandb", 3)]
