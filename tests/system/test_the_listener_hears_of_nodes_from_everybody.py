"""manage.py listener: a real Prometheus, a small Kubernetes and a gpud, by one file."""

import os
import signal
import sys

import msgspec
import pytest
import redis
import yaml

from apps.ingest.nodes.status import STATES, Status
from tests import fake_kubernetes, prometheus_server
from tests.node_samples import FOLDER
from tests.stack import QUICK, until

EVENTS = """SELECT source, node, kind, ended_ns IS NOT NULL FROM nodes_nodeeventrow
WHERE node LIKE 'ls-%' ORDER BY 1, 2, 3, 4"""
DOWN = "SELECT source, node, kind FROM nodes_nodeeventrow WHERE source = 'prometheus'"
TEMPERATURE = 'DCGM_FI_DEV_GPU_TEMP{{gpu="1",Hostname="ls-prom"}} {}\n'


@pytest.fixture
def prometheus(tmp_path):
    if reason := prometheus_server.missing():
        required = os.environ.get("LASTGOOD_REQUIRE_PROMETHEUS") == "1"
        (pytest.fail if required else pytest.skip)(reason)
    with prometheus_server.pages() as exporter:
        exporter.text["/metrics"] = TEMPERATURE.format(95)
        home = tmp_path / "prometheus"
        home.mkdir()
        running = prometheus_server.Prometheus(
            home, {"dcgm-exporter": f"127.0.0.1:{exporter.port}", "node": "127.0.0.1:9"}
        )
        try:
            running.start()
            yield running, exporter
        finally:
            running.stop()


def write_sources(path, prometheus, exporter, cluster, token_file):
    gpud = f"http://127.0.0.1:{exporter.port}"
    path.write_text(yaml.safe_dump({"sources": [
        {"name": "federated", "kind": "prometheus", "urls": [f"{prometheus.url}/federate"],
         "every_s": 5},
        {"name": "exporter", "kind": "prometheus", "urls": {"ls-own": f"{gpud}/own"}, "every_s": 5},
        {"name": "gpud", "kind": "gpud", "urls": {"ls-gpud": gpud}, "every_s": 5},
        {"name": "kube", "kind": "kubernetes", "url": cluster.url, "token_file": str(token_file)},
    ]}))  # fmt: skip


def statuses(stack):
    kept = redis.Redis.from_url(stack.env["REDIS_URL"]).hvals(STATES)
    return {one.name: one for one in (msgspec.json.decode(raw, type=Status) for raw in kept)}


def test_each_source_tells_and_one_that_fails_says_why(stack, prometheus, tmp_path):
    running, exporter = prometheus
    exporter.text["/v1/events"] = (FOLDER / "gpud-events.json").read_text()
    exporter.text["/v1/states"] = (FOLDER / "gpud-states.json").read_text()
    token_file = tmp_path / "token"
    token_file.write_text(fake_kubernetes.TOKEN)
    with fake_kubernetes.serving() as cluster:
        cluster.open_s = 1.0
        cluster.put("nodes", "ls-kube", spec={"unschedulable": True})
        write_sources(tmp_path / "sources.yml", running, exporter, cluster, token_file)
        stack.env |= {"NODE_SOURCES": str(tmp_path / "sources.yml"), "NODE_TARGETS": "loopback"}
        stack.start("listener", [sys.executable, "manage.py", "listener", QUICK])
        heat = ("dcgm-exporter", "ls-prom", "thermal")
        cordon = ("kubernetes", "ls-kube", "cordoned")
        until(lambda: {(*heat, False), (*cordon, False)} <= set(stack.query(EVENTS)), "the start")
        exporter.text["/metrics"] = TEMPERATURE.format(60)
        cluster.put("nodes", "ls-kube")
        until(lambda: {(*heat, True), (*cordon, True)} <= set(stack.query(EVENTS)), "the end")
    told = {row[:3] for row in stack.query(EVENTS)}
    assert ("gpud", "ls-gpud", "xid_74") in told
    assert ("gpud states", "ls-gpud", "nvlink") in told
    assert ("prometheus", "127.0.0.1", "node_down") in set(stack.query(DOWN))
    fares = statuses(stack)
    assert {name: one.failing for name, one in fares.items() if name != "kube"} == {
        "federated": 0, "exporter": 1, "gpud": 0,
    }  # fmt: skip
    assert "HTTP 404: not here" in fares["exporter"].error
    stack.running["listener"].send_signal(signal.SIGTERM)
    assert stack.running.pop("listener").wait(20) == 0
