"""/api/v1/nodes/kernel"""

import json

import pytest

from apps.nodes import store
from apps.runs import store as runs
from apps.runs.records import PlacementInfo
from tests.unit.test_alerts_become_events_of_their_nodes import LABELS, START_NS, alert, body

LINE = "NVRM: Xid (PCI:0000:ae:00): 79, pid=1, GPU has fallen off the bus."
SECOND = START_NS // 10**9


@pytest.fixture
def post(client, token, settings):
    settings.INGEST_ACK = "commit"

    def send(door, sent, kind="text/plain"):
        known = {"Authorization": f"Bearer {token}"}
        return client.post(f"/api/v1/nodes/{door}", sent, content_type=kind, headers=known)

    return send


def seen():
    return store.events(["gpu-a01"], 0, 2**62)


def test_lines_come_as_text_with_what_they_do_not_say(post):
    sent = f"[   10.000000] {LINE}\n[   11.000000] eth0: up\n"
    answer = post(f"kernel?node=gpu-a01&boot_s={SECOND}", sent)
    assert (answer.status_code, answer.json()["events"]) == (202, 1)
    post(f"kernel?node=gpu-a01&boot_s={SECOND}", f"{sent}[   12.000000] eth0: down\n")
    assert [(e.kind, e.time_ns) for e in seen()] == [("xid_79", (SECOND + 10) * 10**9)]


def test_an_agent_a_shipper_and_an_alert_tell_of_one_event(post):
    post(f"kernel?node=gpu-a01&boot_s={SECOND}", f"6,1,500000,-;{LINE}")
    stamp = str(SECOND * 1_000_000 + 501_000)
    entry = {"__REALTIME_TIMESTAMP": stamp, "_HOSTNAME": "gpu-a01", "MESSAGE": LINE}
    post("kernel", json.dumps(entry))
    later = "2026-11-30T02:13:09Z"
    post("alertmanager", body(alert(LABELS, startsAt=later)), "application/json")
    (event,) = seen()
    assert event.source == "alertmanager, kernel (journald), kernel (kmsg)"
    assert (event.time_ns, event.device) == (SECOND * 10**9 + 500_000_000, "0000:ae:00")


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("", "line 1"),
        ("?node=n&boot_s=soon", "boot_s"),
        ("?node=n&utc_offset_s=%2B2", "utc_offset_s"),
        ("?node=n&utc_offset_s=--2", "utc_offset_s"),
        ("?node=n&utc_offset_s=999999", "utc_offset_s"),
    ],
)
def test_a_wrong_address_is_answered_with_the_part_at_fault(post, query, where):
    answer = post(f"kernel{query}", f"2026-11-30T02:11:09Z {LINE}")
    assert (answer.status_code, answer.json()["where"]) == (400, where)


def test_an_event_stands_on_the_deck_and_on_the_incident(post, incident, operator):
    runs.record_placements(incident.run_id, 0, [PlacementInfo(0, "gpu-a01", 0)])
    before_s = incident.onset_time_ns // 10**9 - 60
    post(f"kernel?node=gpu-a01&boot_s={before_s}", f"6,1,500000,-;{LINE}")
    words = "gpu-a01: xid_79 [0000:ae:00] Xid 79: the GPU fell off the bus (hardware)"
    lanes = operator.get("/runs/boom/deck.json").json()["lanes"]
    (lane,) = [lane for lane in lanes if lane["name"] == "Node events"]
    assert [item["text"].startswith(words) for item in lane["items"]] == [True]
    page = operator.get(f"/incidents/{incident.id}/").content.decode()
    assert "Xid 79: the GPU fell off the bus (hardware): drain the node" in page
