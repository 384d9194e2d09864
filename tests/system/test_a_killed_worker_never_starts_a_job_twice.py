"""Workers are killed at the two worst moments of each dangerous step, against a real Slurm."""

import signal
import subprocess
import sys
from urllib.parse import quote

import pytest
from django.db import connection

from apps.rollbacks import services, store
from apps.rollbacks.domain.handover import mark
from apps.rollbacks.launchers import engine
from apps.rollbacks.launchers import store as handovers
from apps.rollbacks.models import Handover
from tests import rollback_story
from tests.launcher_samples import GIVEN, bind, script
from tests.rollback_story import KEY, asked
from tests.stack import until

pytestmark = pytest.mark.django_db(transaction=True)

NURSERY = """
import os, signal, sys
import django
django.setup()
from apps.rollbacks.launchers import engine, slurm, store

def killed_after(owner, name, told):
    work = getattr(owner, name)
    def last(*args, **more):
        result = work(*args, **more)
        if told(args):
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(owner, name, last)

for line in sys.stdin:
    moment, word = line.split()
    child = os.fork()
    if child == 0:
        if moment == "begun":
            killed_after(store, "begin", lambda args: args[2] == word)
        else:
            killed_after(slurm.commands, "run", lambda args: word in args[0][:2] and
                         "--test-only" not in args[0])
        engine.run_due()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""A worker for every line: it is killed once a step is written down as begun, or once the command
has been given and before its success is written down."""


@pytest.fixture(scope="module")
def nursery(slurm_cluster, django_db_setup, tmp_path_factory):
    """A process that makes workers with their own connection to the test database."""
    at = connection.settings_dict
    login = f"{quote(at['USER'])}:{quote(at['PASSWORD'] or '')}"
    where = f"{at['HOST'] or 'localhost'}:{at['PORT']}/{at['NAME']}"
    environment = {
        **slurm_cluster.env,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgresql://{login}@{where}",
        "SLURM_SCRIPTS": str(tmp_path_factory.getbasetemp()),
    }
    code, pipe = [sys.executable, "-c", NURSERY], subprocess.PIPE
    with subprocess.Popen(code, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.stdin.close()


def worker_killed(nursery, moment, word):
    nursery.stdin.write(f"{moment} {word}\n")
    nursery.stdin.flush()
    assert int(nursery.stdout.readline()) == -signal.SIGKILL


def claims_run_out():
    """As if the time of a claim had passed."""
    assert Handover.objects.filter(state="working").update(claimed_until_ns=0) == 1


def ordered(slurm, tmp_path, settings, valkey, **config):
    settings.SLURM_SCRIPTS = [str(tmp_path)]
    start = script(tmp_path, "train", GIVEN)
    job = slurm.submit(start, "--job-name=train", "--requeue")
    until(lambda: slurm.jobs() == {job: "RUNNING"}, "the first start")
    rollback_story.explode()
    bind(job="train", **({"script": str(start)} if config.get("submit") else {}))
    return job, services.request(asked())


@pytest.mark.parametrize("moment", ["begun submit", "given sbatch"])
def test_one_job_is_submitted_whenever_the_worker_died(
    slurm, nursery, tmp_path, settings, valkey, moment
):
    old, order = ordered(slurm, tmp_path, settings, valkey, submit=True)
    worker_killed(nursery, *moment.split())
    engine.run_due()
    assert handovers.get(order.run_id, order.id).state == "working"  # the claim still holds
    claims_run_out()
    engine.run_due()

    (new,) = set(slurm.jobs()) - {old}
    name = mark(KEY, order.id, order.requested_at_ns)
    marked = slurm.ask("squeue", "-h", "-t", "all", "-o", "%i %k").split("\n")
    assert marked.count(f"{new} {name}") == 1
    assert store.get(order.run_id, order.id).launch == f"slurm-{new}"


@pytest.mark.parametrize("moment", ["begun hold", "given requeuehold", "given release"])
def test_a_job_is_requeued_once_whenever_the_worker_died(
    slurm, nursery, tmp_path, settings, valkey, moment
):
    job, order = ordered(slurm, tmp_path, settings, valkey)
    worker_killed(nursery, *moment.split())
    claims_run_out()
    engine.run_due()

    assert handovers.get(order.run_id, order.id).state == "done"
    until(lambda: slurm.jobs() == {job: "RUNNING"}, "the second start")
    assert "Restarts=1 " in slurm.ask("scontrol", "show", "job", job)
    assert store.get(order.run_id, order.id).launch == f"slurm-{job}"


def test_a_controller_that_is_away_is_asked_again_before_anything_is_repeated(
    slurm, nursery, tmp_path, settings, valkey, monkeypatch
):
    old, order = ordered(slurm, tmp_path, settings, valkey, submit=True)
    worker_killed(nursery, "given", "sbatch")
    claims_run_out()
    fails = tmp_path / "bin" / "squeue"
    fails.parent.mkdir()
    fails.write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
    fails.chmod(0o755)
    monkeypatch.setattr(engine, "ROUND_S", 0)
    with monkeypatch.context() as away:
        away.setenv("PATH", f"{fails.parent}:{slurm.env['PATH']}")
        engine.run_due()
    found = handovers.get(order.run_id, order.id)
    assert (found.state, "Unable to contact" in found.text) == ("working", True)
    Handover.objects.update(due_at_ns=0)
    engine.run_due()
    assert len(set(slurm.jobs()) - {old}) == 1
    assert handovers.get(order.run_id, order.id).state == "done"


def test_a_submission_of_which_slurm_may_have_forgotten_waits_for_a_person(
    slurm, nursery, tmp_path, settings, valkey
):
    old, order = ordered(slurm, tmp_path, settings, valkey, submit=True)
    worker_killed(nursery, "begun", "submit")
    claims_run_out()
    rows = handovers.HandoverStep.objects.filter(key="submit")
    assert rows.get().before["memory_s"] == "200"
    rows.update(before={"at_s": str(order.requested_at_ns // 10**9 - 300), "memory_s": "200"})
    engine.run_due()

    found = handovers.get(order.run_id, order.id)
    assert (found.state, "may have been submitted" in found.text) == ("unsure", True)
    assert set(slurm.jobs()) == {old}
