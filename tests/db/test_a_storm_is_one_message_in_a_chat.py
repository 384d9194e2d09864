"""Many incidents of a run at once: people read them together, pagers and programs get each."""

import pytest

from apps.alerts import sending, services, store
from apps.alerts.domain.flow import FlowPolicy
from apps.alerts.sending import SendPolicy
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.channel_samples import ROUTING_KEY, SECRET, channel, rule
from tests.incident_samples import SECOND, at, finding
from tests.receiver import receiving

NOW = at(5000)
STORM = SendPolicy(flow=FlowPolicy(storm=2))


@pytest.fixture
def server(settings, db):
    settings.ALERT_TARGETS = "loopback"
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    settings.PUBLIC_URL = "https://lastgood.example.org"
    with receiving() as receiver:
        yield receiver


def storm():
    """Three incidents of one run at once, of kinds that have nothing to do with each other."""
    run_id = runs.ensure_run("storm")
    for kind in ("explosion", "save_failed", "script_alert"):
        changes = incidents.absorb(run_id, 0, [finding(kind, kind)], NOW)
        services.plan(changes, NOW)


def send():
    return sending.send_due(lambda *_: [], clock=lambda: NOW + SECOND, policy=STORM)


@pytest.mark.parametrize("kind", ["slack", "ntfy"])
def test_a_chat_and_a_phone_get_one_message(server, kind):
    rule("pages", channel("people", kind, server.url("/topic")))
    storm()
    assert send() == 1
    (request,) = server.received
    text = request.body.decode()
    assert "3 incidents on one run within two minutes" in text
    assert text.count("https://lastgood.example.org/incidents/") >= 4
    assert sorted(d.status for d in store.deliveries() if d.kind == "opening") == [
        "folded",
        "folded",
        "sent",
    ]


@pytest.mark.parametrize(("kind", "secret"), [("pagerduty", ROUTING_KEY), ("webhook", SECRET)])
def test_a_pager_and_a_program_get_each_message(server, kind, secret):
    rule("pages", channel("machine", kind, server.url("/x"), secret))
    storm()
    assert (send(), len(server.received)) == (3, 3)


def test_a_message_that_a_chat_refuses_fails_with_all_that_it_said(server):
    rule("pages", channel("chat", "slack", server.url()))
    storm()
    server.answer(404, b"no_service")
    assert send() == 0
    assert {d.status for d in store.deliveries()} == {"failed"}


def test_a_message_that_is_tried_again_keeps_its_id(server):
    rule("pages", channel("chat", "slack", server.url()))
    storm()
    server.answer(503)
    assert send() == 0
    later = NOW + 60 * SECOND
    sending.send_due(lambda *_: [], clock=lambda: later, policy=STORM)
    assert len({request.headers["Idempotency-Key"] for request in server.received}) == 1
