"""From an incident to what a chat, a program or a pager receives."""

import os
import subprocess
import sys
from urllib.parse import quote

import pytest
from django.db import connection

from apps.accounts.records import Actor
from apps.alerts import sending, services, store
from apps.alerts.domain.message import Kind
from apps.alerts.models import Channel
from apps.core.clock import now_ns
from apps.incidents import acting
from apps.incidents import services as incidents
from apps.incidents import store as incidents_store
from apps.runs import store as runs
from tests.channel_samples import ROUTING_KEY, SECRET, channel, rule
from tests.incident_samples import SECOND, at, explosion
from tests.receiver import receiving

NOW = at(5000)
DAY = 86_400 * SECOND
WORKER = """
import django
django.setup()
from apps.alerts.sending import send_due
send_due(lambda run_id, incident: [])
"""


@pytest.fixture
def server(settings):
    settings.ALERT_TARGETS = "loopback"
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    settings.PUBLIC_URL = "https://lastgood.example.org"
    with receiving() as receiver:
        yield receiver


def _absorb(now=NOW, **fields):
    run_id = runs.ensure_run("lrbump")
    changes = incidents.absorb(run_id, 0, [explosion(**fields)], now)
    services.plan(changes, now)
    return run_id, changes[0].incident_id


def _send(now=NOW + SECOND):
    services.sweep(now)
    return sending.send_due(lambda run_id, incident: [], clock=lambda: now)


def _acknowledge(run_id, incident_id):
    alice = Actor("user", "alice", frozenset({"operate"}))
    changes = acting.acknowledge(run_id, incident_id, actor=alice, now_ns=NOW + SECOND)
    services.plan(changes, NOW + SECOND)


def _log():
    return [(d.kind, d.status) for d in reversed(store.deliveries())]


def test_a_pager_follows_the_life_of_an_incident(db, server):
    pager = channel("pager", "pagerduty", server.url("/v2/enqueue"), ROUTING_KEY)
    rule("pages", pager)
    run_id, incident_id = _absorb()
    assert [_send(), _send()] == [1, 0]
    _acknowledge(run_id, incident_id)
    assert [_send(NOW + 2 * SECOND), _send(NOW + 3 * SECOND)] == [1, 0]
    services.plan(acting.resolve(run_id, incident_id, "recovered", NOW + 9 * SECOND), NOW)
    assert [_send(NOW + 10 * SECOND), _send(NOW + 9000 * SECOND)] == [1, 0]
    events = [request.json for request in server.received]
    *page, warning = [(e["event_action"], e["dedup_key"].rpartition("/")[2]) for e in events]
    assert [action for action, _ in page] == ["trigger", "acknowledge", "resolve"]
    assert len({key for _, key in page}) == 1
    assert warning == ("resolve", "warn")


def test_a_mail_recipient_gets_no_message_about_an_acknowledgement(db, server, mailoutbox):
    run_id, incident_id = _absorb()
    assert _send() == 1
    _acknowledge(run_id, incident_id)
    assert _send(NOW + 2 * SECOND) == 0


def test_a_server_that_is_away_gets_the_same_message_later(db, server):
    rule("pages", channel("program", "webhook", server.url(), SECRET))
    _absorb()
    server.answer(503)
    server.answer(429, Retry_After="600")
    assert [_send(), _send(NOW + 2 * SECOND)] == [0, 0]
    (waiting,) = store.deliveries()
    assert (waiting.status, waiting.tries, waiting.error) == ("pending", 1, "HTTP 503")
    assert _send(NOW + 60 * SECOND) == 0
    assert _send(NOW + 600 * SECOND) == 0  # Retry-After is longer than our own back-off
    assert _send(NOW + 661 * SECOND) == 1
    ids = {request.headers["webhook-id"] for request in server.received}
    stamps = {request.headers["webhook-timestamp"] for request in server.received}
    assert (len(server.received), len(ids), len(stamps)) == (3, 1, 3)


def test_a_channel_that_refuses_for_good_is_shown_and_others_are_told(db, server, mailoutbox):
    rule("pages", channel("chat", "slack", server.url()))
    _absorb()
    server.answer(404, b"no_service")
    assert [_send(), _send()] == [0, 1]  # the next look tells the default recipient
    assert [m.to for m in mailoutbox] == [["oncall@example.org"]]
    failed = next(d for d in store.deliveries() if d.status == "failed")
    assert failed.error == "HTTP 404: no_service"
    _send(NOW + DAY // 2)
    assert len(server.received) == 1


def test_a_person_has_a_failed_message_tried_again(db, server, mailoutbox):
    rule("pages", channel("chat", "slack", server.url()))
    _absorb()
    server.answer(404)
    _send()
    failed = next(d for d in store.deliveries() if d.status == "failed")
    address = store.Address(failed.run_id, failed.incident_id, failed.recipient)
    assert store.retry(address, Kind(failed.kind), failed.seq, NOW + 60 * SECOND)
    assert _send(NOW + 60 * SECOND) == 1
    assert ("opening", "sent") in _log()
    assert not store.retry(address, Kind(failed.kind), failed.seq, NOW + 70 * SECOND)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda rows: rows.update(enabled=False), "the channel “chat” is switched off"),
        (lambda rows: rows.delete(), "this channel has been deleted"),
    ],
    ids=["switched off", "deleted"],
)
def test_a_message_whose_channel_went_away_fails_with_its_reason(db, server, change, error):
    rule("pages", channel("chat", "slack", server.url()))
    _absorb()
    change(Channel.objects.all())
    sending.send_due(lambda run_id, incident: [], clock=lambda: NOW + SECOND)
    (failed,) = store.deliveries()
    assert (failed.status, failed.error) == ("failed", error)
    assert server.received == []


def test_a_changed_secret_key_is_a_reason_a_person_can_read(db, server, settings):
    rule("pages", channel("chat", "slack", server.url()))
    _absorb()
    settings.SECRET_KEY = "another"
    sending.send_due(lambda run_id, incident: [], clock=lambda: NOW + SECOND)
    assert "SECRET_KEY has changed; enter its address and secret again" in (
        store.deliveries()[0].error
    )


def test_after_a_day_a_message_that_nobody_takes_is_given_up(db, server, mailoutbox):
    rule("pages", channel("chat", "slack", server.url()))
    _absorb()
    server.answer(500)
    _send()
    server.answer(500, b"still broken")
    assert sending.send_due(lambda r, i: [], clock=lambda: NOW + DAY + 2 * SECOND) == 0
    (failed,) = store.deliveries()
    assert failed.error == "given up after a day: HTTP 500: still broken"


def test_no_secret_is_in_the_delivery_log_or_in_ours(db, server, caplog):
    rule("pages", channel("program", "webhook", server.url("/hooks/s3cr3t"), SECRET))
    _absorb()
    server.answer(400, f"what is {SECRET} at {server.url('/hooks/s3cr3t')}?".encode())
    sending.send_due(lambda run_id, incident: [], clock=lambda: NOW + SECOND)
    told = store.deliveries()[0].error + caplog.text + repr([vars(r) for r in caplog.records])
    assert "what is … at …?" in told
    assert SECRET not in told
    assert "s3cr3t" not in told


def test_a_worker_killed_while_a_channel_answers_leaves_the_message_to_the_next(
    transactional_db, server, settings
):
    rule("pages", channel("program", "webhook", server.url(), SECRET))
    _absorb(now_ns())
    server.stall_s = 60
    worker = _worker()
    assert server.entered.wait(60)
    worker.kill()
    worker.wait()
    server.stall_s = 0
    server.released.set()
    assert sending.send_due(lambda run_id, incident: []) == 0  # the claim still holds
    later = now_ns() + 181 * SECOND
    assert sending.send_due(lambda run_id, incident: [], clock=lambda: later) == 1
    first, second = server.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    (opening,) = [d for d in store.deliveries() if d.kind == "opening"]
    assert (opening.status, opening.tries) == ("sent", 2)


def _worker():
    """A process with its own connection to the test database and our secret key."""
    at_ = connection.settings_dict
    login = f"{quote(at_['USER'])}:{quote(at_['PASSWORD'] or '')}"
    where = f"{at_['HOST'] or 'localhost'}:{at_['PORT']}/{at_['NAME']}"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgresql://{login}@{where}",
        "ALERT_TARGETS": "loopback",
        "PUBLIC_URL": "https://lastgood.example.org",
    }
    return subprocess.Popen([sys.executable, "-c", WORKER], env=environment)


def test_an_incident_that_is_over_before_its_message_resolves_and_pages_nobody(db, server):
    rule("pages", channel("pager", "pagerduty", server.url("/v2/enqueue"), ROUTING_KEY))
    run_id, incident_id = _absorb()
    acting.resolve(run_id, incident_id, "recovered", NOW + SECOND)
    assert incidents_store.get(incident_id).state == "resolved"
    _send(NOW + 2 * SECOND)
    assert {request.json["event_action"] for request in server.received} == {"resolve"}


def test_an_answer_that_was_never_recorded_is_repeated_under_the_same_id(db, server, monkeypatch):
    """A worker that dies between the answer and its commit: at least once, never another id."""
    rule("pages", channel("program", "webhook", server.url(), SECRET))
    _absorb()
    with monkeypatch.context() as broken:
        broken.setattr(store, "mark_sent", lambda *_: 1 / 0)
        assert _send() == 0
    assert _send(NOW + 60 * SECOND) == 1
    first, second = server.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
