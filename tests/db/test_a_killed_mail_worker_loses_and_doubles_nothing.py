"""Claims: a worker that dies between claim and send, and two workers at once."""

import os
import signal
import subprocess
import sys
import threading
from urllib.parse import quote

import pytest
from django.db import connection, connections

from apps.alerts import sending, services
from apps.core.clock import now_ns
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.incident_samples import SECOND, explosion
from tests.mailbox import Mailbox, serve

NURSERY = """
import os, signal, sys
import django
django.setup()
from apps.alerts import mailing, sending, services, store
from apps.alerts.transports.email.transport import MailSession

PLACES = {
    "claimed": (store, "claim"), "built": (mailing, "build"),
    "answered": (MailSession, "hand_over"),
    "marked": (store, "mark_sent"), "recorded": (sending._Worker, "_record"),
    "followed": (services, "plan_again"),
}

def dies_after(place):
    owner, name = PLACES[place]
    work = getattr(owner, name)
    def last(*args, **more):
        work(*args, **more)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(owner, name, last)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        if line.strip() in PLACES:
            dies_after(line.strip())
        sending.send_due(lambda run_id, incident: [])
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Makes a worker for every line it reads, as a process of its own, and says its number, then how it
ended. A word of PLACES: the worker is killed behind that call."""


@pytest.fixture
def server(settings, transactional_db):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    controller = serve(Mailbox())
    settings.EMAIL_PORT = controller.port
    yield controller
    controller.stop()


def _announce(recipients, settings, run="lrbump"):
    settings.ALERT_RECIPIENTS = recipients
    changes = incidents.absorb(runs.ensure_run(run), 0, [explosion()], now_ns())
    services.plan(changes, now_ns())


def _no_candidates(run_id, incident):
    return []


@pytest.fixture
def nursery(server):
    """A process that makes workers with their own connection to the test database."""
    at = connection.settings_dict
    login = f"{quote(at['USER'])}:{quote(at['PASSWORD'] or '')}"
    where = f"{at['HOST'] or 'localhost'}:{at['PORT']}/{at['NAME']}"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgresql://{login}@{where}",
        "EMAIL_URL": f"smtp://127.0.0.1:{server.port}",
        "PUBLIC_URL": "https://lastgood.example.org",
    }
    code = [sys.executable, "-c", NURSERY]
    pipe = subprocess.PIPE
    with subprocess.Popen(code, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.stdin.close()


def _killed_at(place, nursery, mailbox):
    """A worker lives until it comes to a place: one of its own, or a command to the server."""
    mailbox.stall_at = place
    nursery.stdin.write(f"{place}\n")
    nursery.stdin.flush()
    number = int(nursery.stdout.readline())
    if place.isupper():
        assert mailbox.entered.wait(60)
        os.kill(number, signal.SIGKILL)
    assert int(nursery.stdout.readline()) == -signal.SIGKILL
    mailbox.stall_at = ""
    mailbox.entered.clear()


BEFORE = ("claimed", "built", "EHLO", "MAIL", "RCPT", "DATA")
BETWEEN = ("TAKEN", "answered", "marked")
BEHIND = ("recorded", "followed")


def test_wherever_a_worker_is_killed_its_message_arrives_and_only_once_but_for_one_window(
    server, settings, nursery
):
    """The window: the server has taken the message, and that is not committed yet. SMTP has no way
    to ask; the second mail has the id and the date of the first, so that receivers can fold it."""
    settings.PUBLIC_URL = "https://lastgood.example.org"
    mailbox, later, copies = server.handler, now_ns(), {}
    for place in (*BEFORE, *BETWEEN, *BEHIND):
        mailbox.received.clear()
        _announce([f"{place}@example.org"], settings, run=place)
        _killed_at(place, nursery, mailbox)
        assert sending.send_due(_no_candidates) == 0  # the dead worker's claim still holds
        later = now_ns() + 190 * SECOND
        sending.send_due(_no_candidates, clock=lambda now=later: now)
        copies[place] = [(m["Message-ID"], m["Date"], m["Subject"]) for m in mailbox.received]
    assert {place: len(found) for place, found in copies.items()} == {
        **dict.fromkeys(BEFORE + BEHIND, 1),
        **dict.fromkeys(BETWEEN, 2),
    }
    assert all(len(set(found)) == 1 for found in copies.values())


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
