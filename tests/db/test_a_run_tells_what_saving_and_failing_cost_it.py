"""apps.rollbacks.planning: a run read from its rows, starts and saves."""

import pytest

from apps.core.clock import now_ns
from apps.rollbacks import planning
from apps.rollbacks.domain.goodput import Part
from apps.runs import store as runs
from tests import retention_samples

pytestmark = pytest.mark.django_db


@pytest.fixture
def now():
    return now_ns()


def test_the_wall_clock_is_accounted_for_by_category(now):
    found = planning.run_time(retention_samples.trained(now), now)
    goodput, whole_s = found.goodput, 600 + 11_100 + 900 + 300 + 2_120
    assert goodput.wall_s == pytest.approx(whole_s, abs=30)
    assert goodput.of(Part.SAVING) == pytest.approx(12 * 60, abs=60)
    assert goodput.of(Part.WAITING) == pytest.approx(900, abs=20)
    assert goodput.of(Part.STARTING) == pytest.approx(600 + 300, abs=30)
    assert goodput.of(Part.REDONE) == pytest.approx(50 * 10, abs=120)
    assert goodput.of(Part.TRAINING) == pytest.approx(1_200 * 10, abs=150)


def test_pause_restart_interval_and_failures_are_measured(now):
    found = planning.run_time(retention_samples.trained(now), now)
    one = found.measured
    assert one.pause_s == pytest.approx(60, abs=1)
    assert (one.save_s, one.persist_s) == (60, 0)
    assert (one.gpus, one.hosts, one.size_bytes) == (16, 2, retention_samples.SIZE)
    assert one.restart_s == pytest.approx(900 + 300, abs=30)
    assert found.failures.count == 1
    assert found.failures.mean_s == pytest.approx(14_120, abs=60)
    assert [round(start.seconds, -1) for start in found.starts] == [310]


def test_a_run_without_rows_says_only_when_it_ran(now):
    run = retention_samples.run_with(now, range(100, 600, 100))
    found = planning.run_time(run, now)
    assert found.blind
    assert planning.goodput_of(run, now, 0) is None
    assert found.measured.every_s == 3_600


def test_a_run_that_was_never_started_has_no_time(now):
    run_id = runs.ensure_run("new")
    found = planning.run_time(runs.run_by_id(run_id), now)
    assert (found.goodput.wall_s, found.failures, found.blind) == (0, None, True)
