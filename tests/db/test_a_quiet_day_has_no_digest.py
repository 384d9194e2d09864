"""alerts.aside: digests and notices, through the outbox to a real mail server."""

from datetime import UTC, datetime

import pytest

from apps.alerts import aside, mail_store, sending, services, store
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.incident_samples import SECOND, explosion
from tests.mailbox import post_office

EVENING = int(datetime(2026, 3, 1, 20, tzinfo=UTC).timestamp()) * SECOND
MORNING = EVENING + 11 * 3600 * SECOND
ANN = "ann@example.org"


@pytest.fixture
def mailbox(settings, db):
    with post_office() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", int(box.url.rsplit(":", 1)[1])
        settings.ALERT_RECIPIENTS = [ANN]
        settings.PUBLIC_URL = "https://lastgood.example.org"
        yield box


@pytest.fixture
def told(mailbox):
    """An incident of the evening that the person was told of."""
    changes = incidents.absorb(runs.ensure_run("llm"), 0, [explosion()], EVENING)
    services.plan(changes, EVENING)
    send(EVENING)
    mailbox.received.clear()
    return changes[0].incident_id


def send(now):
    return sending.send_due(lambda *_: [], clock=lambda: now)


def test_the_morning_after_an_incident_has_one_digest(told, mailbox):
    assert [aside.plan_digests(MORNING + n * SECOND) for n in (-1, 0, 300)] == [0, 1, 0]
    send(MORNING + 600 * SECOND)
    digests = [m for m in mailbox.received if "digest" in m["Subject"]]
    assert [m["Subject"] for m in digests] == ["Daily digest: 1 incident open, 1 in all"]
    assert f"incidents/{told}/" in digests[0].get_body(("plain",)).get_content()


def test_a_quiet_day_has_none_and_is_not_asked_again(told, mailbox):
    run_id = runs.ensure_run("llm")
    incidents.resolve(run_id, told, "manual", EVENING + SECOND)
    after = MORNING + 24 * 3600 * SECOND
    assert [aside.plan_digests(after), aside.plan_digests(after + 300 * SECOND)] == [0, 0]
    assert [d.status for d in store.deliveries() if d.kind == "digest"] == ["withdrawn"]


def test_who_does_not_want_it_gets_none(told):
    mail_store.save_habits(ANN, mail_store.Habits(digest=False))
    assert aside.plan_digests(MORNING) == 0


def test_a_notice_says_its_sentence(mailbox):
    assert mail_store.notify([ANN], 7, "bob@example.org wants no more mails", EVENING) == 1
    assert mail_store.notify([ANN], 7, "bob@example.org wants no more mails", EVENING) == 0
    assert [send(EVENING), send(EVENING)] == [1, 0]
    (message,) = mailbox.received
    assert message["Subject"] == "bob@example.org wants no more mails"
    assert "because you are an administrator" in message.get_body(("plain",)).get_content()
