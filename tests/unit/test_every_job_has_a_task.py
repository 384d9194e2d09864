"""core.queue.Job and the Celery app know the same names."""

from importlib import import_module

import pytest

from apps.core.queue import Job
from workers.celery import app
from workers.schedule import SCHEDULE, beat_schedule


@pytest.fixture(scope="module")
def registered():
    list(map(import_module, app.conf.imports))
    return {name for name in app.tasks if not name.startswith("celery.")}


def test_every_job_has_a_task_and_every_task_is_a_job(registered):
    assert registered == {job.value for job in Job}


def test_every_periodic_task_is_a_job_listed_once():
    names = [entry.job for entry in SCHEDULE]
    assert len(set(names)) == len(names)
    assert {row["task"] for row in beat_schedule().values()} == {job.value for job in names}


def test_a_killed_workers_messages_come_back_soon():
    options = app.conf.broker_transport_options
    assert app.conf.task_acks_late and app.conf.task_reject_on_worker_lost
    assert options["visibility_timeout"] > app.conf.task_time_limit
    assert options["unacked_restore_interval"] * options["unacked_restore_throttle"] <= 5


def test_only_json_is_accepted_and_no_result_is_kept():
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_ignore_result and app.conf.result_backend is None


def test_a_django_process_enqueues_into_this_app():
    from celery import current_app

    assert current_app.main == "lastgood"
