"""alerts.services: poison, slow mail servers, lost claims."""

import pytest

from apps.alerts import sending, services, store
from apps.alerts.sending import SendPolicy
from apps.alerts.transports.email.transport import RetryPolicy
from apps.incidents import services as incidents
from apps.runs import store as runs
from tests.incident_samples import SECOND, WARN, at, explosion, finding
from workers.tasks.alerts import send

pytestmark = pytest.mark.django_db
NOW = at(5000)


@pytest.fixture
def announced(settings):
    """Two incidents that nobody has planned messages for."""
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    return [
        change.incident_id
        for key in ("one", "two")
        for change in incidents.absorb(runs.ensure_run(key), 0, [explosion()], NOW)
    ]


def no_candidates(run_id, incident):
    return []


def test_an_incident_that_cannot_be_planned_keeps_no_other_from_its_mail(
    announced, monkeypatch, caplog
):
    decide = services.lifecycle.decide

    def stumbling(incident, *args, **more):
        if incident.id == max(announced):
            raise ValueError("odd")
        return decide(incident, *args, **more)

    monkeypatch.setattr(services.lifecycle, "decide", stumbling)
    assert services.sweep(NOW) == 1
    assert [d.incident_id for d in store.deliveries()] == [min(announced)]
    assert [r.message for r in caplog.records] == ["alerts.plan_failed"]


def test_one_call_ends_when_its_time_is_used_up(announced):
    services.sweep(NOW)
    seconds = iter(range(0, 1_000, 40))
    sent = sending.send_due(no_candidates, clock=lambda: NOW + next(seconds) * SECOND)
    assert sent == 1


def test_a_claim_is_renewed_before_each_further_try(announced, monkeypatch):
    until = []
    monkeypatch.setattr(store, "renew", lambda claimed, until_ns: until.append(until_ns - NOW))
    monkeypatch.setattr(sending.mailing, "build", refused_twice(sending.mailing.build))
    services.sweep(NOW)
    policy = SendPolicy(retry=RetryPolicy(pause_s=0.0), limit=1)
    assert sending.send_due(no_candidates, clock=lambda: NOW, policy=policy) == 1
    assert until == [180 * SECOND] * 2


def refused_twice(build):
    """Messages whose first two deliveries fail."""
    left = [OSError("refused"), OSError("refused")]

    def built(facts):
        message = build(facts)
        original = message.message
        message.message = lambda **more: raise_one(left) or original(**more)
        return message

    return built


def raise_one(errors):
    if errors:
        raise errors.pop()


def test_the_claim_outlasts_the_slowest_try(settings):
    settings.EMAIL_TIMEOUT = 60
    assert SendPolicy().lease_ns == 9 * 60 * SECOND


def test_a_message_that_somebody_else_has_sent_stays_sent(announced):
    services.sweep(NOW)
    claimed, _ = store.claim(NOW, SECOND, 2)
    store.mark_sent(claimed, "subject", NOW)
    store.mark_withdrawn(claimed)
    store.put_back(claimed, NOW, "too late")
    found = next(d for d in store.deliveries() if d.incident_id == claimed.address.incident_id)
    assert (found.status, found.error) == ("sent", "")


def test_a_warning_that_becomes_a_page_after_days_is_announced(settings):
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    run_id, days = runs.ensure_run("slow"), NOW + 3 * 86_400 * SECOND
    incidents.absorb(run_id, 0, [finding("s", "outlier", 1_000, WARN)], NOW)
    services.plan(incidents.absorb(run_id, 0, [finding("s", "explosion", 1_000)], days), days)
    assert [(d.kind, d.status) for d in store.deliveries()] == [("opening", "pending")]


def test_what_nobody_was_told_of_for_days_is_not_announced_any_more(announced):
    assert services.sweep(NOW + 3 * 86_400 * SECOND) == 0


def test_a_sweep_that_stumbles_stops_no_message_that_is_due(announced, monkeypatch):
    services.sweep(NOW)

    def stumbling(now_ns):
        raise ValueError("odd")

    monkeypatch.setattr(services, "sweep", stumbling)
    with pytest.raises(ValueError, match="odd"):
        send()
    assert {d.status for d in store.deliveries() if d.kind == "opening"} == {"sent"}
