"""workers.tasks: each task calls the right service with the right things."""

import pytest
from django.core import mail

from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.incidents import services as incidents
from apps.incidents import store
from apps.incidents.store import IncidentQuery
from apps.ingest import store as ingest
from apps.metrics import store as metrics
from apps.runs import store as runs
from tests.incident_samples import explosion
from tests.recorded import job_rows, start
from workers.celery import app
from workers.tasks.alerts import send
from workers.tasks.detect import catch_up
from workers.tasks.metrics import compact

pytestmark = pytest.mark.django_db


def test_a_forgotten_incident_is_mailed_with_its_candidates(settings):
    settings.ALERT_RECIPIENTS = ["oncall@example.org"]
    run_id = runs.ensure_run("lrbump")
    runs.open_attempt(run_id, 0, 0)
    incidents.absorb(run_id, 0, [explosion()], now_ns())
    assert [send(), send()] == [1, 0]
    assert [m.to for m in mail.outbox] == [["oncall@example.org"]]
    assert "No checkpoint before the onset is known to be whole." in mail.outbox[0].body


def test_what_a_dead_writer_left_is_analysed(valkey):
    run_id = start("lrbump")
    metrics.write_rows(run_id, 0, job_rows("lrbump"), source="wandb")
    ingest.mark_written(run_id, [0])
    assert catch_up() == 1
    (incident,) = store.list_incidents(IncidentQuery(run_id=run_id))
    assert incident.kind == "explosion"
    assert catch_up() == 0


def test_small_blocks_are_merged():
    run_id = start("lrbump")
    [metrics.write_rows(run_id, 0, [row], source="wandb") for row in job_rows("lrbump")[:200]]
    assert compact() > 0


def test_the_tasks_carry_the_names_of_the_jobs():
    names = {Job.ALERTS_SEND, Job.DETECT_CATCH_UP, Job.METRICS_COMPACT}
    assert {task.name for task in (send, catch_up, compact)} == {job.value for job in names}
    assert all(name in app.tasks for name in names)
