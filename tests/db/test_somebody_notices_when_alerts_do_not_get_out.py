"""alerts.deadman: a worker that is silent, late or refused, told past the worker and once."""

import json

import pytest
from django.test import Client

from apps.alerts import deadman, pulse_store, sending, services, store
from apps.alerts.domain.deadman import Fault
from apps.dashboard import alert_health
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.channel_samples import channel
from tests.incident_samples import SECOND, at, explosion
from tests.mailbox import post_office
from tests.receiver import receiving
from workers.writer.watchman import Watchman

NOW = at(5000)
MINUTE = 60 * SECOND


@pytest.fixture
def mailbox(settings, db, monkeypatch):
    monkeypatch.setattr(alert_health, "_known", [(0.0, None)])
    with post_office() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", int(box.url.rsplit(":", 1)[1])
        settings.ALERT_RECIPIENTS = ["oncall@example.org"]
        yield box


def planned(now=NOW):
    services.plan(incidents.absorb(runs.ensure_run("llm"), 0, [explosion()], now), now)


def test_a_new_installation_without_a_worker_and_without_messages_is_well(mailbox):
    assert deadman.watch(NOW) is None


def test_a_worker_that_gives_signs_of_life_and_takes_its_messages_is_well(mailbox):
    planned()
    pulse_store.beat(NOW)
    assert deadman.watch(NOW + MINUTE) is None


def test_a_silent_worker_is_told_of_once_by_mail_past_the_worker(mailbox):
    pulse_store.beat(NOW)
    planned()
    looks = [deadman.watch(NOW + m * MINUTE) for m in (1, 3, 4, 30)]
    assert [look and look.fault for look in looks] == [None, *[Fault.SILENT] * 3]
    (message,) = mailbox.received
    assert message["Subject"].startswith(
        "CRITICAL Lastgood: The alert worker has been silent for 3 min"
    )
    assert "past the alert worker" in message.get_body(("plain",)).get_content()
    assert sending.send_due(lambda *_: [], clock=lambda: NOW + 5 * MINUTE) == 1


def test_the_next_silence_is_told_of_again(mailbox):
    for hour in (0, 60):
        pulse_store.beat(NOW + hour * MINUTE)
        assert deadman.watch(NOW + (hour + 1) * MINUTE) is None
        deadman.watch(NOW + (hour + 5) * MINUTE)
    assert len(mailbox.received) == 2


def test_a_message_that_nobody_takes_is_late_though_the_worker_lives(mailbox):
    planned()
    pulse_store.beat(NOW + 3 * MINUTE)
    found = deadman.watch(NOW + 3 * MINUTE)
    assert (found.fault, found.waiting, found.since_ns) == (Fault.LATE, 1, NOW)
    assert found.headline(NOW + 3 * MINUTE) == (
        "Alert messages are late: 1 message waits, the oldest for 3 min"
    )


def test_a_mail_server_that_refuses_is_told_of_through_a_channel(mailbox, settings):
    settings.ALERT_TARGETS = "loopback"
    planned()
    for _ in range(3):
        (claimed,) = store.claim(NOW, 0, 1)
        store.put_back(claimed, NOW, "SMTPDataError: 451 try again later")
    later = NOW + MINUTE
    store.hold(claimed, later + 60 * MINUTE)
    pulse_store.beat(later)
    mailbox.refuse = 99
    with receiving() as server:
        channel(
            "ops", "webhook", server.url("/hook"), "whsec_" + "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
        )
        found = deadman.watch(later)
        assert found.fault is Fault.REFUSED
        (got,) = server.received
    assert json.loads(got.body)["type"] == "incident.deadman"
    assert pulse_store.claim_telling(later + 9 * MINUTE, MINUTE) is False


def test_who_could_not_be_reached_is_tried_again_later(mailbox):
    pulse_store.beat(NOW)
    mailbox.refuse = 1
    [deadman.watch(NOW + m * MINUTE) for m in (3, 4, 9, 10)]
    assert len(mailbox.received) == 1


def test_two_processes_tell_once(mailbox):
    pulse_store.beat(NOW)
    later = NOW + 5 * MINUTE
    assert [pulse_store.claim_telling(later, MINUTE) for _ in range(2)] == [True, False]


def test_every_page_has_a_banner_and_a_monitor_outside_gets_a_503(mailbox, admin_client):
    client = Client()
    assert (
        client.get("/health/alerts").status_code,
        client.post("/health/alerts").status_code,
    ) == (
        200,
        405,
    )
    assert b"alert worker" not in admin_client.get("/audit/").content
    pulse_store.beat(NOW)
    alert_health._known[0] = (0.0, None)
    assert b"The alert worker has been silent" in admin_client.get("/audit/").content
    answer = client.get("/health/alerts")
    assert (answer.status_code, answer.json()) == (503, {"alerts": "silent", "waiting": 0})


def test_the_watchman_of_the_consumer_survives_a_look_that_fails(mailbox, monkeypatch, caplog):
    def stumbling(now_ns):
        raise ValueError("odd")

    monkeypatch.setattr(deadman, "watch", stumbling)
    monkeypatch.setattr("workers.writer.watchman.connection.close", lambda: None)
    Watchman(stopping=None).look()
    assert [r.message for r in caplog.records] == ["watchman.failed"]
