"""From an incident to what a mail server receives."""

import pytest

from apps.alerts import sending, services, store
from apps.alerts.sending import SendPolicy
from apps.alerts.transports.email.transport import RetryPolicy
from apps.core.records import Candidate, MetricRow
from apps.incidents import services as incidents
from apps.metrics import store as metrics
from apps.runs import store as runs
from tests.incident_samples import SECOND, WARN, at, ended, explosion, failure, finding
from tests.mailbox import Mailbox, serve
from workers.tasks.alerts import advise

NOW = at(5000)
FAST = SendPolicy(retry=RetryPolicy(tries=3, pause_s=0.0))
SUBJECT = "CRITICAL lrbump: Loss 0.97 -> 3.65 since step 1,001"


@pytest.fixture
def mailbox(settings):
    box = Mailbox()
    server = serve(box)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    settings.DEFAULT_FROM_EMAIL = "Lastgood <lastgood@example.org>"
    settings.PUBLIC_URL = "https://lastgood.example.org"
    yield box
    server.stop()


@pytest.fixture
def run_id(db, mailbox):
    run_id = runs.ensure_run("lrbump")
    rows = [
        MetricRow(step, at(step), {"train/loss": 0.97 if step < 1001 else 3.5})
        for step in range(900, 1100)
    ]
    metrics.write_rows(run_id, 0, rows, source="test")
    return run_id


def _candidates(run_id, incident):
    return [Candidate(900, 0, "/c/900", True, "headers_verified", (), 101, 0.1, 0, 1)]


def _absorb(run_id, *findings, now=NOW):
    changes = incidents.absorb(run_id, 0, findings, now)
    services.plan(changes, now)
    return changes[0].incident_id


def _send(now=NOW + SECOND, policy=FAST, candidates=_candidates):
    services.sweep(now)
    return sending.send_due(candidates, clock=lambda: now, policy=policy)


def test_the_opening_mail_has_text_html_picture_and_candidates(run_id, mailbox):
    incident_id = _absorb(run_id, explosion())
    assert _send() == 1
    (message,) = mailbox.received
    assert message["Subject"] == f"{SUBJECT} (INC-{incident_id})"
    text = message.get_body(("plain",)).get_content()
    assert "step 900 (attempt 0): headers verified, 101 steps to redo" in text
    assert f"https://lastgood.example.org/incidents/{incident_id}" in text
    assert "Evidence: learning rate 0.0006 -> 0.024 at step 1,000" in text
    assert "Rule: median of 5 rows" in text
    assert "median 0.97 before, median 3.5 from step 1,001 on" in text
    assert message.get_body(("html",)) is not None
    pictures = [p for p in message.walk() if p.get_content_type() == "image/png"]
    assert [p["Content-ID"] for p in pictures] == ["<plot>"]
    assert pictures[0].get_content()[:4] == b"\x89PNG"
    assert mailbox.envelopes == [("lastgood@example.org", ["oncall@example.org"])]


def test_the_mail_of_the_worker_has_the_suggestion_of_the_triage_card(run_id, mailbox):
    _absorb(run_id, explosion())
    assert sending.send_due(_candidates, advise=advise, clock=lambda: NOW, policy=FAST) == 1
    text = mailbox.received[0].get_body(("plain",)).get_content()
    assert "Suggestion: " in text


def test_exactly_one_opening_and_one_closing_mail(run_id, mailbox):
    incident_id = _absorb(run_id, explosion())
    assert [_send(), _send(), _send(NOW + 2 * SECOND)] == [1, 0, 0]
    changes = incidents.resolve(run_id, incident_id, "recovered", NOW + 60 * SECOND)
    services.plan(changes, NOW + 60 * SECOND)
    later = NOW + 61 * SECOND
    assert [_send(later), _send(later), _send(later + 9000 * SECOND)] == [1, 0, 0]
    opening, closing = mailbox.received
    assert closing["Subject"] == f"Re: {opening['Subject']}"
    assert closing["References"] == opening["References"]
    assert closing["Message-ID"] != opening["Message-ID"]
    first_line = closing.get_body(("plain",)).get_content().splitlines()[0]
    assert first_line.startswith("RESOLVED after 1 min: Loss 0.97 -> 3.65")


def test_a_closing_mail_repeats_the_subject_although_the_title_changed(run_id, mailbox):
    incident_id = _absorb(run_id, explosion())
    _send()
    _absorb(run_id, finding("n", "nonfinite", 1010, series="train/loss", title="NaN everywhere"))
    incidents.resolve(run_id, incident_id, "manual", NOW + 2 * SECOND)
    _send(NOW + 3 * SECOND)
    assert mailbox.subjects() == [
        f"{SUBJECT} (INC-{incident_id})",
        f"Re: {SUBJECT} (INC-{incident_id})",
    ]


def test_an_incident_that_ended_before_the_mail_sends_one_that_says_so(run_id, mailbox):
    _absorb(run_id, explosion())
    _absorb(run_id, explosion(**ended()), now=NOW + 20 * SECOND)
    assert [_send(NOW + 60 * SECOND), _send(NOW + 999 * SECOND)] == [1, 0]
    text = mailbox.received[0].get_body(("plain",)).get_content()
    assert text.startswith("RESOLVED after 20 s: Loss")
    assert sorted(d.status for d in store.deliveries()) == ["folded", "sent"]


def test_a_healed_spike_sends_nothing(run_id, mailbox):
    _absorb(run_id, finding("o", "outlier", 350, WARN, **ended(9, 350)))
    assert _send(NOW + 999 * SECOND) == 0


def test_a_dead_job_waits_until_its_logs_are_settled(run_id, mailbox):
    _absorb(run_id, failure(facts={"settled": False}))
    assert _send(NOW + 5 * SECOND) == 0
    _absorb(run_id, failure(facts={"settled": True}), now=NOW + 6 * SECOND)
    assert _send(NOW + 6 * SECOND) == 1


def test_a_dead_job_whose_logs_never_settle_is_announced_after_ten_seconds(run_id, mailbox):
    _absorb(run_id, failure(facts={"settled": False}))
    assert [_send(NOW + 9 * SECOND), _send(NOW + 10 * SECOND)] == [0, 1]


def test_a_run_without_a_loss_gets_its_mail_without_a_picture(run_id, mailbox):
    other = runs.ensure_run("no-metrics")
    changes = incidents.absorb(other, 0, [failure()], NOW)
    services.plan(changes, NOW)
    assert _send() == 1
    assert mailbox.received[0].get_content_type() == "multipart/alternative"


def test_a_broken_part_never_keeps_the_mail_from_being_sent(run_id, mailbox, caplog):
    _absorb(run_id, explosion())

    def broken(run_id, incident):
        raise ZeroDivisionError

    assert _send(candidates=broken) == 1
    assert "No checkpoint" in mailbox.received[0].get_body(("plain",)).get_content()
    assert [r.message for r in caplog.records] == ["alerts.part_failed"]


def test_two_temporary_errors_of_the_mail_server_are_ridden_out(run_id, mailbox):
    mailbox.refuse = 2
    _absorb(run_id, explosion())
    assert _send() == 1
    assert (mailbox.offered, len(mailbox.received)) == (3, 1)


def test_a_mail_server_that_refuses_longer_gets_the_mail_later(run_id, mailbox, caplog):
    mailbox.refuse = 3
    _absorb(run_id, explosion())
    assert _send() == 0
    (waiting,) = store.deliveries()[:1]
    assert waiting.tries == 1
    assert "try again later" in waiting.error
    assert _send(NOW + 2 * SECOND) == 0
    assert _send(NOW + 60 * SECOND) == 1
    assert len(mailbox.received) == 1


def test_a_message_that_cannot_be_sent_does_not_hold_up_the_others(
    run_id, mailbox, caplog, settings
):
    settings.ALERT_RECIPIENTS = ["bad\nBcc: x@example.org", "good@example.org"]
    _absorb(run_id, explosion())
    assert _send() == 1
    assert mailbox.received[0]["To"] == "good@example.org"
    assert [d.error.split(":")[0] for d in store.deliveries() if d.error] == ["ValueError"]
