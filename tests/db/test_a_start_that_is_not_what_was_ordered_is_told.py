"""Post-start checks on a run in the database."""

import pytest

from apps.alerts import services as alerts
from apps.incidents import store as incidents
from apps.rollbacks import arriving, loads_store, services
from apps.rollbacks.domain.arrival import Loaded
from tests import rollback_story
from tests.incident_samples import at
from tests.rollback_samples import falling
from tests.rollback_story import ADA, asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def run_id(settings, tmp_path):
    """A run whose loss exploded, with an acknowledged order back to step 900."""
    settings.ORDERS_DIR = tmp_path / "orders"
    found = rollback_story.explode().run_id
    order = services.request(asked())
    services.acknowledge(found, order.id, "slurm-77", ADA)
    return found


def restart(run_id, number, first, last):
    """Another attempt logs; what is told of it."""
    rollback_story.start(number)
    rollback_story.log(run_id, number, falling(first, last, seed=number))
    return arrived(run_id, number)


def arrived(run_id, number):
    now_ns = at(5_000 + number)
    changes = arriving.arrive(run_id, number, now_ns)
    services.watch(run_id, number, now_ns)
    return changes


def standing(run_id):
    """(kind, attempt, severity) of the open incidents about starts."""
    found = (
        incidents.of_run(run_id) if hasattr(incidents, "of_run") else incidents.waiting([run_id])
    )
    return [(i.kind, i.attempt, i.severity.value) for i in found if i.kind.startswith("wrong")]


def test_a_start_at_the_ordered_step_is_no_news(run_id):
    assert restart(run_id, 1, 900, 940) == []
    assert standing(run_id) == []


def test_a_start_at_another_step_opens_one_page_and_fails_no_order(run_id):
    changes = restart(run_id, 1, 750, 790)
    assert standing(run_id) == [("wrong_start", 1, "page")]
    assert alerts.plan(changes, at(5_001)) >= 0
    assert arrived(run_id, 1) == []
    assert services.store.orders(run_id)[-1].state.value == "resumed"


def test_it_is_over_when_another_start_is_right(run_id):
    restart(run_id, 1, 750, 790)
    restart(run_id, 2, 761, 800)
    assert standing(run_id) == []


def test_what_a_process_prints_is_compared_with_the_order(run_id):
    rollback_story.start(1)
    loads_store.add(run_id, 1, [Loaded(1200, "/data/boom/step-1200")])
    rollback_story.log(run_id, 1, falling(900, 940, seed=1))
    arrived(run_id, 1)
    (found,) = incidents.findings_of_kind(run_id, "wrong_start")
    assert found.title.startswith("attempt 1 has loaded /data/boom/step-1200, RB-")


def test_loads_are_kept_once_and_a_few_of_them(run_id):
    loads = [Loaded(n, None) for n in range(50)]
    loads_store.add(run_id, 1, [*loads, *loads])
    loads_store.add(run_id, 1, loads)
    assert loads_store.of(run_id, 1) == loads[:20]


def test_saves_into_the_old_directory_are_told(run_id):
    restart(run_id, 1, 900, 940)
    rollback_story.save(run_id, 1, 930)
    arrived(run_id, 1)
    assert standing(run_id) == [("wrong_folder", 1, "warn")]


def test_before_the_first_restart_it_costs_one_statement(run_id, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert arriving.arrive(run_id, 0, at(5_000)) == []


def test_a_restart_costs_a_few(run_id, django_assert_max_num_queries):
    restart(run_id, 1, 900, 940)
    with django_assert_max_num_queries(9):
        arriving.arrive(run_id, 1, at(5_000))
