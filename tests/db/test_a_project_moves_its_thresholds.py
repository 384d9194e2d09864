"""metrics.policies: what an administrator says changes how losses are judged."""

import pytest
from django.utils import timezone

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import Forbidden
from apps.accounts.store import audit_rows
from apps.core.errors import AppError, Conflict
from apps.metrics import policies, services, store
from apps.metrics.domain.spikes import SpikePolicy
from apps.metrics.store import MovedThresholds
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.metric_samples import T0_NS, recorded_rows

pytestmark = pytest.mark.django_db
PROJECT = "llm"
DEAF = {
    "up.page_z": 50, "up.page_excess": 5, "up.page_z_long": 50, "up.page_excess_long": 5,
    "up.fast_rows": 10, "up.urgent_rows": 10,
    "slow_short.start_row": 100_000, "slow.start_row": 100_000,
}  # fmt: skip
ADA = Actor("user", "ada", frozenset({"read", "operate"}))


@pytest.fixture
def run():
    run_id = runs.ensure_run("judged")
    runs.open_attempt(run_id, 0, T0_NS)
    runs.note_progress(run_id, 0, Progress(project=PROJECT), timezone.now())
    return run_id


def write(run, rows):
    store.write_rows(run, 0, rows, source="test")
    seen = Progress(first_step=rows[0].step, last_step=rows[-1].step)
    runs.note_progress(run, 0, seen, timezone.now())


def judged(run):
    """What is said of losses; statistics of layers have a test of their own."""
    return [f for f in services.detect(run, 0, 0) if f.kind != "layer_trend"]


def say(values, version=0, project=PROJECT, actor=SYSTEM):
    asked = MovedThresholds(values, version)
    return policies.save(project, asked, actor=actor, reason="noisy data", now_ns=5)


def test_only_what_differs_is_kept_and_counts_for_the_runs_of_the_project(run):
    assert say({"up.open_z": 7, "min_rows": 30}) == []
    assert store.thresholds_of(PROJECT) == MovedThresholds({"up.open_z": 7.0}, 1, 5, "lastgood")
    assert policies.policy_of(run).up.open_z == 7.0
    assert policies.policy_of(runs.ensure_run("other")) == SpikePolicy()


def test_what_is_open_is_judged_again_and_taken_back(run):
    write(run, recorded_rows("lrbump"))
    (opened,) = judged(run)
    assert say(DEAF) == [(run, 0)]
    found = {f.key: f for f in judged(run)}
    assert (opened.page, found[opened.key].page) == (True, False)

    say({}, version=1)
    assert opened.key in {f.key for f in judged(run) if f.page}
    assert judged(run) == []


def test_an_attempt_that_slept_meanwhile_is_judged_by_the_new_ones(run):
    rows = recorded_rows("lrbump")
    store.write_rows(run, 0, rows[:900], source="test")
    assert judged(run) == []
    say({**DEAF, "slow.window": 50})
    store.take_fresh(run, 0)
    store.write_rows(run, 0, rows[900:], source="test")
    assert [f for f in judged(run) if f.kind == "explosion"] == []


def test_a_change_is_audited_and_a_repeat_is_none(run):
    say({"up.open_z": 7})
    assert say({"up.open_z": 7}, version=1) == []
    (row,) = audit_rows(5)
    assert (row.action, row.object, row.reason) == (
        "thresholds.changed", "project llm", "noisy data",
    )  # fmt: skip
    assert (row.before, row.after) == ({}, {"up.open_z": 7.0})


def test_two_people_at_once_do_not_overwrite_each_other(run):
    say({"up.open_z": 7})
    with pytest.raises(Conflict, match="changed these thresholds meanwhile"):
        say({"up.open_z": 8})


def test_it_takes_an_administrator_and_sense(run):
    with pytest.raises(Forbidden, match="admin"):
        say({"up.open_z": 7}, actor=ADA)
    with pytest.raises(AppError, match="out of its range"):
        say({"up.open_z": 1_000})
    assert store.thresholds_of(PROJECT) == MovedThresholds()
