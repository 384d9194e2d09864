"""ingest.analyse in two processes at once, and beside a writer."""

import pytest
from django.db import transaction
from django.utils import timezone

from apps.alerts import store as alerts
from apps.incidents import store as incidents
from apps.incidents.store import IncidentQuery
from apps.ingest import store as ingest
from apps.ingest.analyse import analyse
from apps.metrics import store as metrics
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.recorded import LATER_NS, job_rows, rank_rows, start
from tests.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def one_recipient(settings):
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]


def write(run_id, rows, source):
    """One batch, as the writer commits it."""
    with transaction.atomic():
        runs.lock_run(run_id)
        metrics.write_rows(run_id, 0, rows, source=source)
        steps = [row.step for row in rows]
        runs.note_progress(run_id, 0, Progress(min(steps), max(steps)), timezone.now())
        ingest.mark_written(run_id, [0])


def told(run_id):
    """Keys of the findings of the only incident, and its messages."""
    (incident,) = incidents.list_incidents(IncidentQuery(run_id=run_id))
    keys = [finding.key for finding in incidents.findings(run_id, incident.id)]
    messages = [(d.recipient, d.kind, d.seq) for d in alerts.deliveries(run_id=run_id)]
    return incident, keys, messages


def test_two_analyses_of_the_same_rows_open_one_incident_with_one_message():
    run_id = start("lrbump")
    write(run_id, job_rows("lrbump"), "wandb")

    assert at_once(*[lambda: analyse(run_id, 0, LATER_NS)] * 3) == []

    _, keys, messages = told(run_id)
    assert sorted(keys) == ["spike:a0:s1001", "trend:a0:s1001"]
    assert messages == [("oncall@example.org", "opening", 0)]
    assert ingest.analyses_of([run_id])[run_id].behind == 0


def test_analyses_beside_two_writers_find_what_one_after_the_other_would():
    run_id = start("sdc_rollback")
    job = [row for row in job_rows("sdc_rollback") if row.step < 800]
    ranks = sorted((r for r in rank_rows("sdc_rollback") if r.step < 800), key=lambda r: r.step)

    def feed(rows, source, size):
        for first in range(0, len(rows), size):
            write(run_id, rows[first : first + size], source)

    def follow():
        for _ in range(40):
            analyse(run_id, 0, LATER_NS)

    works = [lambda: feed(job, "wandb", 40), lambda: feed(ranks, "logs", 37), follow, follow]
    assert at_once(*works) == []
    analyse(run_id, 0, LATER_NS)

    incident, keys, messages = told(run_id)
    assert sorted(keys) == ["rank:a0:r5:s710", "spike:a0:s701"]
    assert (incident.onset_step, incident.suspects[0].rank) == (701, 5)
    assert messages == [("oncall@example.org", "opening", 0)]
