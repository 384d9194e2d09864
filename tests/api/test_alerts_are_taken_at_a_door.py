"""/api/v1/nodes/alertmanager"""

import gzip

import pytest

from apps.nodes import store
from tests.unit.test_alerts_become_events_of_their_nodes import START_NS, alert, body

DOOR = "/api/v1/nodes/alertmanager"
ENDED = alert(status="resolved", endsAt="2026-11-30T02:21:09.412Z")


@pytest.fixture
def post(client, token, settings):
    settings.INGEST_ACK = "commit"

    def send(sent, **headers):
        known = {"Authorization": f"Bearer {token}"} | headers
        return client.post(DOOR, sent, content_type="application/json", headers=known)

    return send


def seen():
    return [(e.kind, e.ended_ns) for e in store.events(["gpu-a01"], 0, 2**62)]


def test_an_alert_that_is_notified_again_and_resolved_is_one_event(post):
    assert post(body(alert())).json()["events"] == 1
    post(body(alert(), groupKey="another group"))
    assert seen() == [("xid_79", None)]
    post(body(ENDED))
    assert seen() == [("xid_79", START_NS + 600 * 10**9)]


def test_a_late_notification_opens_nothing_again(post):
    post(body(ENDED))
    post(body(alert()))
    assert seen() == [("xid_79", START_NS + 600 * 10**9)]


def test_firing_and_resolved_in_one_body(post):
    post(body(alert(), ENDED, alert(startsAt="2026-11-30T04:00:00Z")))
    assert [ended is None for _, ended in seen()] == [False, True]


def test_what_was_left_out_is_said(post):
    answer = post(gzip.compress(body(alert({"alertname": "Watchdog"}))), **{
        "Content-Encoding": "gzip"
    })  # fmt: skip
    assert (answer.status_code, answer.json()["left_out"]) == (202, {"alerts_without_node": 1})


def test_a_wrong_body_is_answered_with_its_field(post):
    answer = post(body(alert(startsAt="x")))
    assert (answer.status_code, answer.json()["where"]) == (400, "alerts[0].startsAt")


@pytest.mark.parametrize(("secret", "status"), [("", 401), ("Bearer wrong", 403)])
def test_a_stranger_is_refused(post, secret, status):
    assert post(body(alert()), Authorization=secret).status_code == status


def test_a_body_that_is_too_large_is_refused(post):
    assert post(b" " * (4 * 2**20 + 1)).status_code == 413
