"""metrics.planned."""

import pytest
from django.utils import timezone

from apps.metrics.planned import planned_of
from apps.runs import store as runs
from apps.runs.records import Progress

pytestmark = pytest.mark.django_db


def test_the_configuration_of_a_run_is_read(django_assert_num_queries):
    run_id = runs.ensure_run("planned")
    runs.open_attempt(run_id, 0, 1)
    runs.note_progress(run_id, 0, Progress(config={"warmup_steps": 400}), timezone.now())
    with django_assert_num_queries(2):
        (found,) = planned_of(run_id)
    assert (found.kind, found.from_step, found.to_step) == ("warm_up", 0, 400)


def test_a_run_that_is_not_there_has_no_plans():
    assert planned_of(12_345) == ()
