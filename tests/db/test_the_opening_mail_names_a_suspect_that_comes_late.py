"""alerts.services.plan: when the opening message is due, and when a worker is woken."""

import pytest

from apps.alerts import sending, services, store
from apps.core.queue import Job
from apps.core.records import MetricRow
from apps.incidents import services as incidents
from apps.metrics import store as metrics
from apps.runs import store as runs
from tests.incident_samples import SECOND, at, explosion, level_shift, rank_outlier

pytestmark = pytest.mark.django_db
NOW = at(5000)


@pytest.fixture
def woken(monkeypatch, settings):
    """(job, seconds to wait) of each wake-up, instead of a broker."""
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    jobs = []
    monkeypatch.setattr(services, "enqueue", lambda job, delay_s=0.0: jobs.append((job, delay_s)))
    return jobs


@pytest.fixture
def run_id():
    run_id = runs.ensure_run("sdc")
    rows = [MetricRow(700, at(700), {"rank/local_loss": 1.1}, rank) for rank in range(8)]
    metrics.write_rows(run_id, 0, rows, source="logs")
    return run_id


def absorb(run_id, *findings, now=NOW):
    services.plan(incidents.absorb(run_id, 0, findings, now), now)


def due():
    return [(d.kind, d.due_at_ns - NOW) for d in store.deliveries()]


def test_the_suspect_brings_the_waiting_message_forward(run_id, woken):
    absorb(run_id, level_shift())
    assert due() == [("opening", 5 * SECOND)]
    absorb(run_id, rank_outlier(), now=NOW + SECOND)
    assert due() == [("opening", 0)]
    assert woken == [(Job.ALERTS_SEND, 5.0), (Job.ALERTS_SEND, 0.0)]


def test_nobody_waits_longer_than_five_seconds(run_id, woken):
    absorb(run_id, level_shift())
    sent = [sending.send_due(lambda *_: [], clock=lambda s=s: NOW + s * SECOND) for s in (4, 5)]
    assert sent == [0, 1]


def test_a_known_cause_does_not_wait(run_id, woken):
    absorb(run_id, explosion())
    assert (due(), woken) == ([("opening", 0)], [(Job.ALERTS_SEND, 0.0)])


def test_a_run_without_ranks_does_not_wait(woken):
    absorb(runs.ensure_run("one-gpu"), level_shift())
    assert due() == [("opening", 0)]


def test_planning_costs_the_same_for_one_incident_and_for_many(woken, django_assert_num_queries):
    for number in range(5):
        absorb(runs.ensure_run(f"run-{number}"), explosion())
    with django_assert_num_queries(4):  # the paging incidents, their messages, rules, who left
        assert services.sweep(NOW) == 0
