"""/api/v1/nodes/*: each door takes its samples, says what became of them, and is heard."""

import pytest

from apps.core.clock import now_ns
from apps.ingest.nodes import heard, status
from apps.ingest.nodes.status import Status
from apps.nodes import store
from tests.node_samples import AT_NS, FOLDER, NAMES_NODES, NS, SAMPLES


@pytest.fixture
def post(client, token, valkey, settings):
    settings.INGEST_ACK = "commit"

    def send(door, sent):
        known = {"Authorization": f"Bearer {token}"}
        kind = "application/octet-stream"
        return client.post(f"/api/v1/nodes/{door}", sent, content_type=kind, headers=known)

    return send


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_taken_and_its_events_are_kept(post, name):
    door = SAMPLES[name]
    query = "" if door in NAMES_NODES else f"?node=gpu-a01&boot_s={AT_NS // NS}"
    answer = post(f"{door}{query}", (FOLDER / name).read_bytes())
    assert answer.status_code == 202, answer.content
    assert store.events(["gpu-a01", "gpu-a02", "gpu-a03"], 0, 2**62)


def test_the_clock_of_a_bmc_is_set_right(post):
    line = "1 | 02/10/2026 | 14:23:05 | Memory #0x48 | Uncorrectable ECC | Asserted"
    answer = post("ipmi?node=gpu-a01&clock=02/10/2026+14:23:15", line)
    (event,) = store.events(["gpu-a01"], 0, 2**62)
    assert answer.json()["events"] == 1
    (told,) = heard.heard()
    assert 10 * NS <= told.last_ns - event.time_ns < 70 * NS


@pytest.mark.parametrize(
    ("door", "body", "where"),
    [
        ("metrics?node=a", "<html>not found</html>\n{}", "body"),
        ("kubernetes", "not json", "body"),
        ("kubernetes", '{"kind": "Node"}\n{"kind":', "line 2"),
        ("gpud?node=a", '[{"component": 5}]', "[0].component"),
        ("gpud", "[]", "node"),
        ("ipmi?node=a&clock=noon", "1 | x", "clock"),
        ("nvidia-smi?node=a", "Failed to initialize NVML", "body"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(post, door, body, where):
    answer = post(door, body)
    assert (answer.status_code, answer.json()["where"]) == (400, where)
    assert heard.heard() == []


def test_a_source_that_should_be_heard_and_is_not_is_called_silent(post, operator):
    now = now_ns()
    said = "gpu-a07:9400: no answer within 10 s"
    status.save(Status("rack 7", "prometheus", now, now - 240 * NS, failing=2, error=said))
    status.save(Status("cluster", "kubernetes", now, now))
    status.save(Status("never", "gpud", now))
    page = operator.get("/ingest/").content.decode()
    assert page.count("<strong>silent</strong>, last heard") == 1
    assert page.count("<strong>never</strong>") == 1
    assert "4 min ago" in page and said in page


def test_the_page_says_who_was_heard_and_when(post, operator):
    post("ipmi?node=gpu-a01", (FOLDER / "sel.txt").read_bytes())
    post("kubernetes", (FOLDER / "kubernetes-events.json").read_bytes())
    page = operator.get("/ingest/").content.decode()
    assert "Sources of node events" in page
    assert "IPMI event log" in page and "kubernetes events without node" in page
