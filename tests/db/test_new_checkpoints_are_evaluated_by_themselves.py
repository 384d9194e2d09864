"""Planned, run by a real program, and read by step."""

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import evaluating, evaluations, jobs_store, suites
from apps.checkpoints.domain.evaluating import State, Suite
from apps.checkpoints.storage import places
from apps.core.clock import now_ns
from apps.runs import contact_store
from apps.runs import store as runs
from tests.evaluation_samples import checkpoint, program
from workers.evaluator import evaluator

pytestmark = pytest.mark.django_db


@pytest.fixture
def run_id(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    settings.EVALUATION_PROGRAMS = [program(tmp_path)]
    settings.CHECKPOINT_ROOTS = [places.parse("/ckpt")]
    settings.EVALUATIONS_DIR = tmp_path / "evaluations"
    run_id = runs.ensure_run("boom")
    runs.open_attempt(run_id, 0, now_ns())
    contact_store.note(run_id, now_ns())
    return run_id


@pytest.fixture
def suite(run_id, settings):
    argv = (settings.EVALUATION_PROGRAMS[0], "{checkpoint}", "{output}")
    return suites.add("", Suite("nightly", argv, every_steps=200), SYSTEM, now_ns())


def saved(run_id, *steps):
    for step in steps:
        checkpoint(run_id, step, at_ns=now_ns())


def asked(run_id):
    return sorted(job.step for job in jobs_store.jobs(run_id))


def test_checkpoints_saved_since_are_planned_once_at_their_distance(run_id, suite, settings):
    assert evaluating.plan(now_ns()) == 0
    saved(run_id, 100, 200, 300, 400)
    assert [evaluating.plan(now_ns()), evaluating.plan(now_ns())] == [2, 2]
    assert asked(run_id) == [100, 300]
    saved(run_id, 500)
    assert evaluating.plan(now_ns()) == 3


def test_checkpoints_from_before_the_suite_are_left_alone(run_id, settings):
    saved(run_id, 100)
    argv = (settings.EVALUATION_PROGRAMS[0], "{output}")
    suites.add("", Suite("late", argv, every_steps=1), SYSTEM, now_ns())
    assert evaluating.plan(now_ns()) == 0


def test_a_planned_job_is_run_and_its_scores_are_read_by_step(run_id, suite, settings):
    saved(run_id, 900)
    evaluating.plan(now_ns())
    assert evaluator.work_all() == 1
    (job,) = jobs_store.jobs(run_id)
    assert (job.state, job.exit_code, job.reason) == (State.DONE, 0, "")
    assert "evaluating /ckpt/step-900 into " in jobs_store.log_text(run_id, job.id)
    found = {s.task: s.value for s in evaluations.of_run(run_id)[900] if s.metric == "acc"}
    assert found == {"mmlu": 0.61}
    assert list(settings.EVALUATIONS_DIR.iterdir()) == []
    assert evaluating.plan(now_ns()) == 0


def test_a_checkpoint_elsewhere_is_refused_without_a_second_try(run_id, suite, settings):
    settings.CHECKPOINT_ROOTS = [places.parse("/other")]
    saved(run_id, 900)
    evaluating.plan(now_ns())
    evaluator.work_all()
    (job,) = jobs_store.jobs(run_id)
    assert (job.state, job.tries) == (State.FAILED, 1)
    assert "/ckpt/step-900 may not be looked at" in job.reason


def test_a_command_without_a_result_file_says_so(run_id, suite, settings):
    argv = ("/bin/echo", "{output}")
    settings.EVALUATION_PROGRAMS = ["/bin/echo"]
    suites.change(suite.id, Suite("nightly", argv, every_steps=200), 1, SYSTEM, now_ns())
    saved(run_id, 900)
    evaluating.plan(now_ns())
    evaluator.work_all()
    (job,) = jobs_store.jobs(run_id)
    assert (job.state, job.exit_code) == (State.FAILED, 0)
    assert "wrote no .json file" in job.reason


def test_evaluators_are_woken_only_as_often_as_there_is_work(run_id, suite, valkey, monkeypatch):
    from workers.tasks import evaluate

    woken = []
    monkeypatch.setattr(evaluate, "enqueue", woken.append)
    assert (evaluate.plan(), len(woken)) == (0, 0)
    saved(run_id, 900)
    assert (evaluate.plan(), len(woken)) == (1, 1)
    valkey.rpush("celery:evaluation", *["call"] * evaluate.MOST_CALLS)
    assert (evaluate.plan(), len(woken)) == (1, 1)
