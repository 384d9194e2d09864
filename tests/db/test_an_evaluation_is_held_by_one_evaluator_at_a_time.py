"""apps.checkpoints.evaluating: the queue and its leases."""

import pytest

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import Forbidden
from apps.checkpoints import evaluating, jobs_store, marks, store, suites
from apps.checkpoints.domain.evaluating import RETRY_S, How, Lease, State, Suite
from apps.checkpoints.evaluating import Ended
from apps.core.errors import Conflict, NotFound, Refused
from apps.runs import store as runs
from tests.evaluation_samples import checkpoint
from tests.factories import T0_NS
from tests.threads import at_once

pytestmark = pytest.mark.django_db
S = 1_000_000_000
NOW = T0_NS + 1_000 * S
ARGV = ("/opt/eval/run", "{checkpoint}", "{output}")
LEASE = Lease()


@pytest.fixture
def run_id(settings):
    settings.EVALUATION_PROGRAMS = ["/opt/eval/run"]
    run_id = runs.ensure_run("boom")
    runs.open_attempt(run_id, 0, T0_NS)
    return run_id


@pytest.fixture
def suite(run_id):
    return suites.add("", Suite("nightly", ARGV), SYSTEM, NOW)


@pytest.fixture
def job(run_id, suite):
    checkpoint(run_id, 900)
    return evaluating.ask(run_id, 0, 900, suite.id, SYSTEM, now_ns=NOW)


def nothing():
    raise AssertionError("no result may be written")


def state(job):
    return jobs_store.job(job.run_id, job.id).state


def test_asked_twice_is_one_job(run_id, suite, job):
    assert evaluating.ask(run_id, 0, 900, suite.id, SYSTEM, now_ns=NOW) == job
    assert [j.id for j in jobs_store.jobs(run_id)] == [job.id]


def test_one_job_has_one_holder_and_ends_by_it(job):
    held = evaluating.claim("gpu-1/7", NOW)
    assert evaluating.claim("gpu-2/8", NOW) is None
    assert (held.run_key, held.job.tries, held.job.evaluator) == ("boom", 1, "gpu-1/7")
    written = []
    ended = Ended(How.DONE, "", 0, b"hello", 5)
    assert evaluating.finish(held, ended, NOW, lambda: written.append(1)) is State.DONE
    assert evaluating.finish(held, ended, NOW, nothing) is None
    assert (written, jobs_store.log_text(job.run_id, job.id)) == ([1], "hello")


@pytest.mark.django_db(transaction=True)
def test_of_evaluators_that_ask_at_once_one_gets_the_job(job):
    held = []
    assert at_once(*[lambda: held.append(evaluating.claim("gpu", NOW))] * 4) == []
    assert [one.job.id for one in held if one] == [job.id]


def test_a_silent_evaluator_loses_its_job_and_changes_nothing_any_more(job):
    first = evaluating.claim("gpu-1/7", NOW)
    over = NOW + int(LEASE.lease_s * S) + 1
    assert (evaluating.give_back(over - 2), evaluating.give_back(over)) == (0, 1)
    again = jobs_store.job(job.run_id, job.id)
    assert (again.state, again.reason) == (
        State.WAITING, "its evaluator gpu-1/7 has said nothing for 180 s",
    )  # fmt: skip
    assert evaluating.claim("gpu-2/8", over) is None
    second = evaluating.claim("gpu-2/8", over + int(RETRY_S * S))
    assert second.job.tries == 2
    assert evaluating.renew(first, b"", 0, over) is How.LOST
    assert evaluating.finish(first, Ended(How.DONE, ""), over, nothing) is None
    assert evaluating.renew(second, b"", 0, over) is None


def test_a_renewed_lease_is_not_given_away(job):
    held = evaluating.claim("gpu-1/7", NOW)
    later = NOW + int(LEASE.lease_s * S) - 1
    assert evaluating.renew(held, b"step 1", 6, later) is None
    assert evaluating.give_back(later + 2) == 0
    assert jobs_store.log_text(job.run_id, job.id) == "step 1"


def test_the_last_try_fails_for_good_with_its_reason(job):
    for at in (NOW, NOW + int(RETRY_S * S)):
        held = evaluating.claim("gpu-1/7", at)
        evaluating.finish(held, Ended(How.EXIT, "exit code 3", 3, b"boom", 4), at, nothing)
    info = jobs_store.job(job.run_id, job.id)
    assert (info.state, info.exit_code, info.reason) == (State.FAILED, 3, "exit code 3")
    assert evaluating.claim("gpu-1/7", NOW * 2) is None


@pytest.mark.django_db(transaction=True)
def test_retention_leaves_a_checkpoint_alone_until_its_evaluation_is_over(run_id, job):
    def kept():
        marks_of = marks.protections(run_id, NOW)
        return [p.name for p in marks_of.get((0, 900), ())]

    assert kept() == [f"evaluation {job.id}"]
    held = evaluating.claim("gpu-1/7", NOW)
    assert kept() == [f"evaluation {job.id}"]
    evaluating.finish(held, Ended(How.DONE, "", 0), NOW, lambda: None)
    assert kept() == []


def test_a_restart_of_the_evaluator_costs_no_try(job):
    held = evaluating.claim("gpu-1/7", NOW)
    evaluating.finish(held, Ended(How.STOPPED, "shut down"), NOW, nothing)
    assert evaluating.claim("gpu-1/8", NOW).job.tries == 1


def test_a_checkpoint_that_is_written_again_meanwhile_has_no_result(run_id, job):
    held = evaluating.claim("gpu-1/7", NOW)
    store.Checkpoint.objects.filter(run_id=run_id).update(inventory_digest="other")
    assert evaluating.finish(held, Ended(How.DONE, "", 0), NOW, nothing) is State.FAILED
    assert "written again" in jobs_store.job(run_id, job.id).reason


def test_what_cannot_run_any_more_is_ended_on_the_way_to_what_can(run_id, suite, job):
    other = suites.add("", Suite("weekly", ARGV), SYSTEM, NOW)
    evaluating.ask(run_id, 0, 900, other.id, SYSTEM, now_ns=NOW + 1)
    suites.remove(suite.id, SYSTEM)
    assert evaluating.claim("gpu-1/7", NOW + 1).job.suite == "weekly"
    assert state(job) is State.FAILED


def test_a_waiting_job_is_taken_back_at_once_and_a_running_one_at_its_next_word(run_id, suite, job):
    ada = Actor("user", "ada", frozenset({"operate"}))
    assert evaluating.cancel(run_id, job.id, ada, NOW).state is State.CANCELLED
    assert evaluating.cancel(run_id, job.id, ada, NOW).state is State.CANCELLED
    second = evaluating.ask(run_id, 0, 900, suite.id, SYSTEM, now_ns=NOW)
    held = evaluating.claim("gpu-1/7", NOW)
    assert evaluating.cancel(run_id, second.id, ada, NOW).state is State.RUNNING
    assert evaluating.renew(held, b"", 0, NOW) is How.CANCELLED
    evaluating.finish(held, Ended(How.CANCELLED, ""), NOW, nothing)
    info = jobs_store.job(run_id, second.id)
    assert (info.state, info.reason) == (State.CANCELLED, "taken back by ada")


def test_only_whole_checkpoints_of_known_suites_are_evaluated(run_id, suite):
    with pytest.raises(NotFound):
        evaluating.ask(run_id, 0, 900, suite.id, SYSTEM, now_ns=NOW)
    checkpoint(run_id, 900)
    with pytest.raises(NotFound):
        evaluating.ask(run_id, 0, 900, suite.id + 1, SYSTEM, now_ns=NOW)
    store.Checkpoint.objects.filter(run_id=run_id).update(complete=False)
    with pytest.raises(Refused, match="not known to be whole"):
        evaluating.ask(run_id, 0, 900, suite.id, SYSTEM, now_ns=NOW)


def test_a_suite_is_set_by_administrators_and_never_overwritten_unseen(run_id, suite):
    with pytest.raises(Forbidden):
        suites.add("", Suite("x", ARGV), Actor("user", "eve", frozenset({"operate"})), NOW)
    with pytest.raises(Conflict):
        suites.add("", Suite("Nightly", ARGV), SYSTEM, NOW)
    changed = suites.change(suite.id, Suite("nightly", ARGV, tries=1), 1, SYSTEM, NOW)
    assert (changed.version, changed.suite.tries) == (2, 1)
    with pytest.raises(Conflict, match="meanwhile"):
        suites.change(suite.id, Suite("nightly", ARGV), 1, SYSTEM, NOW)
