"""alerts.sending with a real mail server: storms, warnings, the cap, silence, escalation."""

from dataclasses import replace

import pytest

from apps.accounts.records import Actor
from apps.alerts import rules_store, sending, services, store
from apps.alerts.domain.flow import FlowPolicy
from apps.alerts.models import Rule
from apps.alerts.sending import SendPolicy
from apps.alerts.transports.email.transport import RetryPolicy
from apps.incidents import acting
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.incident_samples import PAGE, SECOND, WARN, at, explosion, finding
from tests.mailbox import post_office

NOW = at(5000)
FAST = SendPolicy(retry=RetryPolicy(pause_s=0.0), flow=FlowPolicy())


@pytest.fixture
def mailbox(settings, db):
    with post_office() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", int(box.url.rsplit(":", 1)[1])
        settings.ALERT_RECIPIENTS = ["oncall@example.org"]
        settings.PUBLIC_URL = "https://lastgood.example.org"
        yield box


@pytest.fixture
def warned(db):
    """A rule that sends warnings to everybody."""
    Rule.objects.create(
        name="warnings", severities=["warn"], everybody=True, changed_at_ns=0, changed_by="test"
    )


def absorb(key, *findings, attempt=0, now=NOW):
    changes = incidents.absorb(runs.ensure_run(key), attempt, findings, now)
    services.plan(changes, now)
    return [c.incident_id for c in changes]


def send(now=NOW, policy=FAST):
    services.sweep(now)
    return sending.send_due(lambda *_: [], clock=lambda: now, policy=policy)


def text_of(message):
    return message.get_body(("plain",)).get_content()


def statuses():
    return sorted((d.kind, d.status) for d in store.deliveries() if d.kind != "reminder")


def test_six_incidents_of_a_run_at_once_are_one_mail_in_all_their_threads(mailbox):
    ids = [absorb("storm", finding(f"f{n}", step=4_000 - 600 * n))[0] for n in range(6)]
    assert send() == 1
    (message,) = mailbox.received
    assert message["Subject"].startswith("CRITICAL storm: 6 incidents (INC-")
    assert len(message["Subject"]) <= 78
    assert message["References"].count("<inc-") == 6
    assert all(f"/incidents/{one}" in text_of(message) for one in ids)
    assert statuses() == [("opening", "folded")] * 5 + [("opening", "sent")]
    run_id = runs.ensure_run("storm")
    services.plan(acting.resolve(run_id, ids[3], "manual", NOW + SECOND), NOW + SECOND)
    assert send(NOW + 2 * SECOND) == 1
    assert mailbox.subjects()[1] == f"Re: {message['Subject']}"


def test_warnings_are_told_together_after_five_minutes(mailbox, warned):
    absorb("one", finding("a", "outlier", 10, WARN))
    absorb("two", finding("b", "outlier", 10, WARN), now=NOW + 200 * SECOND)
    assert [send(NOW + 299 * SECOND), send(NOW + 300 * SECOND)] == [0, 1]
    (message,) = mailbox.received
    assert message["Subject"].startswith("WARNING one and 1 run more: 2 warnings (INC-")
    assert text_of(message).startswith("2 warnings in the last minutes.")
    assert send(NOW + 900 * SECOND) == 0


def test_a_warning_that_turns_into_a_page_is_told_at_once(mailbox, warned):
    absorb("one", finding("a", "outlier", 10, WARN))
    send(NOW + 300 * SECOND)
    absorb("one", finding("a", "explosion", 10, PAGE), now=NOW + 400 * SECOND)
    assert send(NOW + 400 * SECOND) == 1
    assert text_of(mailbox.received[1]).startswith("NOW CRITICAL, it began as a warning: ")


def test_the_last_mail_that_the_cap_allows_holds_the_rest_and_says_so(mailbox):
    for number in range(4):
        absorb(f"run-{number}", explosion())
    policy = replace(FAST, flow=FlowPolicy(cap=2))
    assert send(policy=policy) == 2
    last = text_of(mailbox.received[1])
    assert last.startswith("3 messages in one mail, because there were so many.")
    assert "2 more suppressed, they are in this mail" in last
    absorb("run-9", explosion(), now=NOW + 60 * SECOND)
    assert [send(NOW + s * SECOND, policy) for s in (60, 3599)] == [0, 0]
    send(NOW + 3600 * SECOND, policy)
    assert any("run-9" in text_of(message) for message in mailbox.received[2:])


def test_nothing_is_sent_while_an_incident_is_silenced(mailbox):
    (incident_id,) = absorb("quiet", explosion())
    until = NOW + 1800 * SECOND
    why = {"actor": Actor("user", "ann", frozenset()), "now_ns": NOW, "reason": "a test"}
    changes = acting.silence(runs.ensure_run("quiet"), incident_id, until, **why)
    assert sending.send_due(lambda *_: [], clock=lambda: NOW, policy=FAST) == 0
    services.plan(changes, NOW)
    assert [send(until - SECOND), send(until)] == [0, 1]
    assert statuses() == [("opening", "sent")]


def test_who_left_the_rule_gets_nothing_more_from_it(mailbox, warned):
    absorb("one", finding("a", "outlier", 10, WARN))
    rules_store.leave(Rule.objects.get().pk, "oncall@example.org", NOW)
    absorb("one", finding("b", "outlier", 20, WARN), now=NOW + SECOND)
    assert send(NOW + 900 * SECOND) == 0
    assert statuses() == [("opening", "withdrawn")]
