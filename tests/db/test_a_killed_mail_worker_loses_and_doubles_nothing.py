"""Claims: a worker that dies between claim and send, and two workers at once."""

import os
import subprocess
import sys
import threading
from urllib.parse import quote

import pytest
from django.db import connection, connections

from apps.alerts import sending, services, store
from apps.core.clock import now_ns
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.incident_samples import SECOND, explosion
from tests.mailbox import Mailbox, serve

WORKER = """
import django
django.setup()
from apps.alerts.sending import send_due
send_due(lambda run_id, incident: [])
"""


@pytest.fixture
def server(settings, transactional_db):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    controller = serve(Mailbox())
    settings.EMAIL_PORT = controller.port
    yield controller
    controller.stop()


def _announce(recipients, settings):
    settings.ALERT_RECIPIENTS = recipients
    changes = incidents.absorb(runs.ensure_run("lrbump"), 0, [explosion()], now_ns())
    services.plan(changes, now_ns())


def _no_candidates(run_id, incident):
    return []


def _worker(port):
    """A process with its own connection to the test database."""
    at = connection.settings_dict
    login = f"{quote(at['USER'])}:{quote(at['PASSWORD'] or '')}"
    where = f"{at['HOST'] or 'localhost'}:{at['PORT']}/{at['NAME']}"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgresql://{login}@{where}",
        "EMAIL_URL": f"smtp://127.0.0.1:{port}",
    }
    return subprocess.Popen([sys.executable, "-c", WORKER], env=environment)


def test_a_worker_killed_while_sending_leaves_the_message_to_the_next(server, settings):
    mailbox = server.handler
    mailbox.stall = True
    _announce(["oncall@example.org"], settings)
    worker = _worker(server.port)
    assert mailbox.entered.wait(60)
    worker.kill()
    worker.wait()
    mailbox.stall = False

    assert sending.send_due(_no_candidates) == 0  # the dead worker's claim still holds
    later = now_ns() + 181 * SECOND
    assert sending.send_due(_no_candidates, clock=lambda: later) == 1
    assert len(mailbox.received) == 1
    opening = next(d for d in store.deliveries() if d.kind == "opening")
    assert (opening.status, opening.tries) == ("sent", 2)


def test_two_workers_at_once_send_each_message_once(server, settings):
    people = [f"p{n}@example.org" for n in range(8)]
    _announce(people, settings)
    sent = []

    def work():
        try:
            sent.append(sending.send_due(_no_candidates))
        finally:
            connections.close_all()

    workers = [threading.Thread(target=work) for _ in range(2)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert sum(sent) == len(people)
    assert sorted(m["To"] for m in server.handler.received) == people


def test_a_dead_broker_loses_no_message(server, settings):
    _announce(["oncall@example.org"], settings)  # nobody is woken
    services.sweep(now_ns())
    assert sending.send_due(_no_candidates) == 1


def test_an_incident_nobody_planned_for_is_found_by_the_periodic_scan(server, settings):
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    incidents.absorb(runs.ensure_run("lrbump"), 0, [explosion()], now_ns())
    assert services.sweep(now_ns()) == 1
    assert services.sweep(now_ns()) == 0
    assert sending.send_due(_no_candidates) == 1
