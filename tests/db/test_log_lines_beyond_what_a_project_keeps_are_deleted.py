"""apps.logs.retention and the job logs.expire"""

import pytest
from django.utils import timezone

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import Forbidden
from apps.accounts.store import audit_rows
from apps.core.clock import now_ns
from apps.core.errors import AppError, Conflict
from apps.core.sql import execute, query
from apps.incidents import store as incidents
from apps.ingest import store as ingest
from apps.logs import retention
from apps.logs.domain.chunk.retention import DAY_NS, KeepRule
from apps.logs.records import LogQuery
from apps.logs.store import expiring, read_lines, write_lines
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.log_samples import parse
from workers.tasks import logs as tasks

pytestmark = pytest.mark.django_db
NOW = now_ns()
PLACE = "team/llm"


def send(run_id, attempt, days_ago, batch):
    """Two lines, one of them an error."""
    seen = NOW - days_ago * DAY_NS
    text = f"{batch} fine\nRuntimeError: {batch}\n"
    parsed = parse(text, seen_ns=seen, source=f"{batch}.log")
    with_rows = write_lines(run_id, attempt, "n0", [parsed], batch_id=batch)
    assert with_rows.lines == 2


@pytest.fixture
def run():
    """Attempt 0: lines of 40 and 10 days ago; attempt 1: of 40 days ago. Known for 300 days."""
    run_id = runs.ensure_run("boat")
    runs.note_progress(run_id, 0, Progress(project=PLACE), timezone.now())
    for attempt in (0, 1):
        runs.open_attempt(run_id, attempt, NOW - 40 * DAY_NS)
    execute("UPDATE runs_run SET project = %s, created_at = now() - interval '300 days'", [PLACE])
    execute("UPDATE runs_contact SET heard_ns = heard_ns - %s", [10 * DAY_NS])
    send(run_id, 0, 40, "a")
    send(run_id, 0, 10, "b")
    send(run_id, 1, 40, "c")
    return runs.get_run("boat")


def words(run):
    return {line.text.split()[0] for line in read_lines(LogQuery(run.id)).lines} - {"RuntimeError:"}


def set_rule(rule, actor=SYSTEM, seen_ns=0):
    retention.set_rule(PLACE, rule, actor=actor, seen_ns=seen_ns, reason="full", now_ns=NOW)


def test_the_job_deletes_old_lines_and_says_so_everywhere(run):
    set_rule(KeepRule(days=30))
    assert tasks.expire() == 4
    assert words(run) == {"b"}
    assert query("SELECT DISTINCT attempt FROM logs_event") == [(0,)]
    assert query("SELECT count(*) FROM logs_event")[0][0] == 1
    assert [(one.attempt, one.lines) for one in expiring.deleted(run.id)] == [(0, 2), (1, 2)]
    assert expiring.deleted(run.id)[0].before_ns == NOW - 40 * DAY_NS
    assert ingest.counters(run.id)["expired_log_lines"] == 4
    assert tasks.expire() == 0


def test_counts_of_hours_that_are_gone_as_a_whole_go_too(run):
    send(run.id, 0, 41, "older")
    set_rule(KeepRule(days=30))
    before = query("SELECT count(*) FROM logs_pulsehour")[0][0]
    tasks.expire()
    assert query("SELECT count(*) FROM logs_pulsehour")[0][0] == before - 1


def test_lines_that_come_again_after_they_were_deleted_stay_deleted(run):
    set_rule(KeepRule(days=30))
    tasks.expire()
    again = parse("a fine\nRuntimeError: a\n", seen_ns=NOW - 40 * DAY_NS, source="a.log")
    assert write_lines(run.id, 0, "n0", [again], batch_id="again").lines == 0
    assert words(run) == {"b"}


def test_by_size_the_oldest_lines_go(run):
    size = retention.project_logs(PLACE, (), NOW).size_bytes
    set_rule(KeepRule(most_bytes=size - 1))
    tasks.expire()
    assert words(run) == {"b", "c"}


def test_the_settings_count_where_a_project_says_nothing(run, settings):
    settings.KEEP_LOGS_DAYS = 30
    tasks.expire()
    assert words(run) == {"b"}
    assert tasks.expire() == 0


def test_a_dry_run_tells_the_same_and_deletes_nothing(run):
    told = retention.preview(PLACE, (), NOW, KeepRule(days=30))
    assert (told.lines, told.runs, told.size_bytes > 0) == (4, 1, True)
    assert words(run) == {"a", "b", "c"}


def test_a_pinned_attempt_and_one_with_an_open_incident_stay(run, monkeypatch):
    set_rule(KeepRule(days=30))
    pin = {"actor": SYSTEM, "reason": "", "now_ns": NOW}
    assert retention.pin(run, 1, pinned=True, **pin)
    assert not retention.pin(run, 1, pinned=True, **pin)
    monkeypatch.setattr(incidents, "attempts_waiting", lambda: {(run.id, 0)})
    assert tasks.expire() == 0
    why = {one.attempt: one.why for one in retention.preview(PLACE, {(run.id, 0)}, NOW).spared}
    assert why == {0: "open incident", 1: "pinned"}
    assert retention.pin(run, 1, pinned=False, **pin)
    assert tasks.expire() == 2
    with pytest.raises(AppError, match="no attempt 7"):
        retention.pin(run, 7, pinned=True, **pin)


def test_a_rule_is_changed_by_who_may_on_what_he_saw_and_audited(run):
    with pytest.raises(Forbidden):
        set_rule(KeepRule(days=30), Actor("person", "bob", frozenset({"read"})))
    with pytest.raises(AppError, match="days"):
        set_rule(KeepRule(days=0))
    set_rule(KeepRule(days=30))
    with pytest.raises(Conflict):
        set_rule(KeepRule(days=3))
    set_rule(None, seen_ns=NOW)
    assert retention.rule_of(PLACE).rule == KeepRule()
    newest = audit_rows(10, None)[0]
    assert (newest.action, newest.before) == (
        "log_retention.changed",
        {"days": 30, "most_bytes": None},
    )


def test_time_is_bounded_and_the_next_call_goes_on(run, monkeypatch):
    monkeypatch.setattr(expiring, "CHUNKS_AT_ONCE", 1)
    set_rule(KeepRule(days=30))
    assert retention.expire((), NOW, 0.0).total() == 2
    assert retention.expire((), NOW, 0.0).total() == 2
    assert words(run) == {"b"}


def test_in_a_bucket_the_objects_are_let_go(bucket):
    run_id = runs.ensure_run("boat")
    send(run_id, 0, 40, "a")
    execute("UPDATE runs_run SET created_at = now() - interval '300 days', project = %s", [PLACE])
    set_rule(KeepRule(days=30))
    tasks.expire()
    assert query("SELECT chunks, dropped_at IS NOT NULL FROM logs_bundle") == [(0, True)]
