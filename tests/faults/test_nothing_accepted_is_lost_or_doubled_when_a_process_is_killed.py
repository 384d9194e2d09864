"""SIGKILL of each process while a client sends by every door for lines: every accepted line and
point is there once."""

import pytest

from tests.faults.exactly_once import assert_exactly_once, finish, senders
from tests.stack import until


@pytest.fixture
def send(stack):
    with senders(stack) as start:
        yield start


def kill_writer(stack):
    stack.kill("writer")
    stack.start_writer()


def kill_web(stack):
    stack.kill("web")
    stack.start_web()


def kill_postgres(stack):
    stack.postgres.kill()
    stack.postgres.start()


def kill_valkey(stack):
    stack.valkey.kill()
    stack.valkey.start()


@pytest.mark.parametrize("fault", [kill_writer, kill_web, kill_postgres, kill_valkey])
def test_exactly_once(stack, send, fault):
    sender = send(fault.__name__.replace("_", "-"))
    fault(stack)
    finish(stack, sender)
    assert_exactly_once(stack, sender)


def test_a_writer_killed_between_commit_and_acknowledge_doubles_nothing(stack, send):
    stack.kill("writer")
    sender = send("between")
    stack.run_writer_that_dies_before_acknowledging()
    assert stack.pending() > 0
    stack.start_writer()
    finish(stack, sender)
    assert_exactly_once(stack, sender)
    assert stack.counters("between")["duplicate_batches"] > 0


def test_a_celery_worker_killed_while_it_compacts_leaves_every_point_once(stack, send):
    stack.start_worker()
    sender = send("celery")
    with stack.asking_for("metrics.compact"):
        until(lambda: "Task metrics.compact[" in stack.log("worker"), "a compaction to begin")
        stack.kill("worker")
    finish(stack, sender)
    assert_exactly_once(stack, sender)
    stack.start_worker()
    until(stack.no_job_waits, "the new worker to take the rest")
    assert_exactly_once(stack, sender)
    stack.kill("worker")
