"""metrics.replay: nothing is stored, and the answer says how far it came."""

import pytest
from django.utils import timezone

from apps.core.errors import AppError
from apps.metrics import policies, replay, services, store
from apps.metrics.replay import DAYS
from apps.metrics.store import MovedThresholds
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.db.test_a_project_moves_its_thresholds import DEAF, SYSTEM
from tests.metric_samples import T0_NS, recorded_rows

pytestmark = pytest.mark.django_db
PROJECT = "llm"


def logged(key, name):
    run_id = runs.ensure_run(key)
    rows = recorded_rows(name)
    runs.open_attempt(run_id, 0, rows[0].time_ns)
    store.write_rows(run_id, 0, rows, source="test")
    seen = Progress(
        first_step=rows[0].step, last_step=rows[-1].step, last_row_ns=rows[-1].time_ns,
        last_ns=rows[-1].time_ns, project=PROJECT,
    )  # fmt: skip
    runs.note_progress(run_id, 0, seen, timezone.now())
    return rows[-1].time_ns


def hows(found):
    return [(change.how, change.fired.onset_step) for change in found.changes]


def test_what_would_no_longer_page_is_lost():
    now = logged("exploded", "lrbump")
    logged("calm", "quiet")
    found = replay.replay(PROJECT, DEAF, now)
    assert hows(found) == [("lost", 1_001)]
    assert (found.attempts, found.done, found.stopped) == (2, 2, "")
    assert found.rows == len(recorded_rows("lrbump")) + len(recorded_rows("quiet"))


def test_what_would_page_now_is_gained_against_the_moved_ones():
    now = logged("exploded", "lrbump")
    asked = MovedThresholds(DEAF)
    policies.save(PROJECT, asked, actor=SYSTEM, reason="", now_ns=1)
    assert hows(replay.replay(PROJECT, {}, now)) == [("gained", 1_001)]
    assert hows(replay.replay(PROJECT, DEAF, now)) == []


def test_nothing_is_stored():
    now = logged("exploded", "lrbump")
    run = runs.ensure_run("exploded")
    replay.replay(PROJECT, DEAF, now)
    assert any(f.page for f in services.detect(run, 0, 0))


def test_older_runs_are_left_out():
    now = logged("exploded", "lrbump")
    assert replay.replay(PROJECT, DEAF, now + (DAYS + 1) * 86_400 * 10**9).attempts == 0


def test_it_stops_when_it_takes_too_long_and_says_so(monkeypatch):
    now = logged("exploded", "lrbump")
    monkeypatch.setattr(replay, "BUDGET_S", -1.0)
    found = replay.replay(PROJECT, DEAF, now)
    assert (found.attempts, found.done, found.rows) == (1, 0, 0)
    assert found.stopped.startswith("stopped after")


def test_it_reads_a_bounded_number_of_rows_and_says_so(monkeypatch):
    now = logged("exploded", "lrbump")
    logged("calm", "quiet")
    monkeypatch.setattr(replay, "MAX_ROWS", 150)
    found = replay.replay(PROJECT, DEAF, now)
    assert (found.attempts, found.done, found.rows, found.cut) == (2, 1, 150, 2)
    assert found.stopped == "stopped after 150 rows"


def test_a_value_out_of_its_range_is_refused():
    with pytest.raises(AppError, match="out of its range"):
        replay.replay(PROJECT, {"up.open_z": 0}, T0_NS)
