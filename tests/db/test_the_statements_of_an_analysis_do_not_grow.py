"""How many statements the hot paths of detection, incidents and rollbacks make."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.records import MetricRow
from apps.incidents import services as incidents
from apps.metrics import services as metrics
from apps.metrics import store
from apps.rollbacks import services as rollbacks
from apps.runs import store as runs
from tests import rollback_story
from tests.incident_samples import at, explosion, finding
from tests.rollback_samples import falling
from tests.rollback_story import asked

pytestmark = pytest.mark.django_db
NOW = at(5_000)
SAVEPOINT = 2
"""Its opening and its end: the tests lie in a transaction, like the calls in the writer's."""


def statements(work):
    with CaptureQueriesContext(connection) as found:
        work()
    return len(found)


def rows(first, last, *, keys=1, ranks=()):
    """One row a step, of the job or of some ranks."""
    more = {f"act_max/layers.{n}": 1.0 for n in range(keys)}
    job = {"train/loss": 2.0, "train/lr": 1e-4, **more}
    return [
        MetricRow(step, at(step), {"rank/local_loss": 2.0} if ranks else job, rank)
        for step in range(first, last)
        for rank in (ranks or (None,))
    ]


@pytest.fixture
def run_id():
    run_id = runs.ensure_run("r")
    runs.open_attempt(run_id, 0, 0)
    return run_id


def test_absorb_with_nothing_new(run_id, django_assert_num_queries):
    rollback_story.log(run_id, 0, falling(0, 50))
    with django_assert_num_queries(2 + SAVEPOINT):  # newest step, signals to look for again
        assert incidents.absorb(run_id, 0, [], NOW) == []


def test_absorb_costs_the_same_whatever_the_incident_holds(run_id):
    incidents.absorb(run_id, 0, [explosion()], NOW)
    one = statements(lambda: incidents.absorb(run_id, 0, [explosion(title="worse")], NOW))
    many = [finding(f"o{n}", "outlier", 1_002 + n) for n in range(50)]
    incidents.absorb(run_id, 0, many, NOW)
    assert statements(lambda: incidents.absorb(run_id, 0, [explosion(title="x")], NOW)) == one


def test_detect_with_nothing_new(run_id, django_assert_num_queries):
    metrics.detect(run_id, 0, NOW)
    with django_assert_num_queries(2 + SAVEPOINT):  # the detector's row with its lock, fresh notes
        assert metrics.detect(run_id, 0, NOW) == []


@pytest.mark.parametrize(("steps", "keys"), [(1, 1), (200, 300)])
def test_detect_with_one_new_batch(run_id, django_assert_num_queries, steps, keys):
    store.write_rows(run_id, 0, rows(0, 100, keys=keys), source="wandb")
    metrics.detect(run_id, 0, NOW)
    store.write_rows(run_id, 0, rows(100, 100 + steps, keys=keys), source="wandb")
    with django_assert_num_queries(17 + SAVEPOINT):  # and what was said, names, ids, keysets, ...
        metrics.detect(run_id, 0, NOW)


@pytest.mark.parametrize("steps", [1, 200])
def test_detect_with_speed_and_evaluations(run_id, django_assert_num_queries, steps):
    known = {"train/loss": 2.0, "perf/step_time": 1.0, "eval/loss": 2.0, "eval/acc": 0.5}
    all_rows = [MetricRow(step, NOW + step, known) for step in range(100 + steps)]
    store.write_rows(run_id, 0, all_rows[:100], source="wandb")
    metrics.detect(run_id, 0, NOW)
    store.write_rows(run_id, 0, all_rows[100:], source="wandb")
    with django_assert_num_queries(20 + SAVEPOINT):
        metrics.detect(run_id, 0, NOW)


@pytest.mark.parametrize(("steps", "ranks"), [(1, 8), (50, 64)])
def test_detect_with_new_lines_of_ranks(run_id, django_assert_num_queries, steps, ranks):
    store.write_rows(run_id, 0, rows(0, steps, ranks=range(ranks)), source="logs")
    with django_assert_num_queries(15 + SAVEPOINT):
        metrics.detect(run_id, 0, NOW)


@pytest.mark.parametrize("saves", [[900], list(range(20, 981, 20))])
def test_candidates(django_assert_num_queries, saves):
    incident = rollback_story.explode()
    rollback_story.save(incident.run_id, 0, *saves)
    with django_assert_num_queries(22):
        assert rollbacks.candidates(incident.run_id, incident)


def test_watch_with_one_attempt(django_assert_num_queries):
    incident = rollback_story.explode()
    rollbacks.request(asked())
    with django_assert_num_queries(1):  # the attempts
        assert rollbacks.watch(incident.run_id, 0, NOW) == []
