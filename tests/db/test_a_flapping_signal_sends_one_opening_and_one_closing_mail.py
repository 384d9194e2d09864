"""From findings that come and go to what a real mail server receives."""

import pytest

from apps.alerts import sending, services
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.incident_samples import SECOND, at, ended, explosion
from tests.mailbox import post_office

NOW = at(5000)


@pytest.fixture
def mailbox(settings, db):
    with post_office() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", int(box.url.rsplit(":", 1)[1])
        settings.ALERT_RECIPIENTS = ["oncall@example.org"]
        yield box


def test_eight_flaps_are_one_episode(mailbox):
    run_id, now = runs.ensure_run("flappy"), NOW
    for flap in range(16):
        over = ended() if flap % 2 else {}
        changes = incidents.absorb(run_id, 0, [explosion(**over)], now)
        services.plan(changes, now)
        look(now)
        look(now + 4 * SECOND)
        now += 8 * SECOND
    for minutes in (1, 20, 61, 90, 600):
        look(now + minutes * 60 * SECOND)
    opening, closing = mailbox.received
    assert closing["Subject"] == f"Re: {opening['Subject']}"
    first = closing.get_body(("plain",)).get_content()
    assert first.startswith("RESOLVED after 2 min: Loss 0.97 -> 3.65")


def look(now):
    """What the worker does every ten seconds."""
    sending.send_due(lambda *_: [], clock=lambda: now)
    if services.sweep(now):
        sending.send_due(lambda *_: [], clock=lambda: now)
