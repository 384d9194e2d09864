"""POST /api/v1/nodes/alertmanager, by a real Alertmanager with the configuration of the docs."""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from tests import alertmanager_server
from tests.stack import until

PAGE = (Path(__file__).parents[2] / "docs/triage.md").read_text(encoding="utf-8")
EVENTS = """SELECT node, kind, severity, device, ended_ns IS NOT NULL FROM nodes_nodeeventrow
WHERE source = 'alertmanager' ORDER BY node, kind"""
START = datetime.now(UTC) - timedelta(minutes=5)


def config_of_the_docs(url, token):
    (text,) = re.findall(r"(?s)```yaml\n(route:.*?)```", PAGE)
    text = text.replace("https://lastgood.example", url).replace("<token>", token)
    config = yaml.safe_load(text)
    config["route"] |= {"group_wait": "0s", "group_interval": "1s"}
    return config


@pytest.fixture(scope="module")
def alertmanager(stack, tmp_path_factory):
    if reason := alertmanager_server.missing():
        required = os.environ.get("LASTGOOD_REQUIRE_ALERTMANAGER") == "1"
        (pytest.fail if required else pytest.skip)(reason)
    config = config_of_the_docs(stack.url, stack.token)
    server = alertmanager_server.Alertmanager(tmp_path_factory.mktemp("am"), config)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def alert(ends=None, **labels):
    annotations = {"summary": f"{labels['alertname']} in the rack"}
    ended = {"endsAt": ends.isoformat()} if ends else {}
    return {"labels": labels, "annotations": annotations, "startsAt": START.isoformat()} | ended


XID = {"alertname": "GpuXidError", "Hostname": "am-a01", "gpu": "3", "xid": "79",
       "severity": "critical", "job": "dcgm-exporter", "instance": "10.0.0.7:9400"}  # fmt: skip
CLOCK = {"alertname": "NodeClockSkewDetected", "instance": "am-a02:9100", "job": "node-exporter"}


def test_alerts_fire_together_and_end_as_the_same_events(alertmanager, stack):
    alertmanager.post(alert(**XID), alert(**CLOCK), alert(alertname="Watchdog"))
    xid = ("am-a01", "xid_79", "critical", "GPU 3")
    clock = ("am-a02", "clock", "warning", None)
    until(lambda: stack.query(EVENTS) == [(*xid, False), (*clock, False)], "both events")
    alertmanager.post(alert(datetime.now(UTC), **XID))
    until(lambda: stack.query(EVENTS) == [(*xid, True), (*clock, False)], "the end of one")
    counted = "SELECT value > 0 FROM ingest_counter WHERE name = 'alerts_without_node'"
    assert stack.query(counted) == [(True,)]
