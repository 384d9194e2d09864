"""metrics.watching and ingest.watch: what hurts a training without its loss, through the writer."""

import math
from dataclasses import replace

import orjson
import pytest

from apps.checkpoints import services as checkpoints
from apps.core.records import CheckpointSeen
from apps.incidents import store
from apps.incidents.store import IncidentQuery
from apps.ingest import watch
from apps.ingest.analyse import analyse
from apps.metrics import services as metrics
from apps.rollbacks import gather
from apps.runs import store as runs
from tests.watching import a_run, at, rows, send
from tests.watching import told as told_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]
MINUTE = 60


def log(run_id, first, last, *, attempt=0, **values):
    """A row a minute with these values of step."""
    found = []
    for n in range(first, last):
        told = {name: of(n) for name, of in values.items()}
        found.append({"step": n, "time_ns": at(n * MINUTE), "values": {"train/loss": 2.0, **told}})
    body = orjson.dumps({"attempt": attempt, "rows": found})
    send(run_id, last * MINUTE, "metrics", body)
    analyse(run_id, attempt, at(last * MINUTE))


def speed(n):
    return 1_000.0 + 10.0 * math.sin(n)


def slow(n):
    return 0.7 * speed(n)


def findings(run_id, kind):
    return store.findings_of_kind(run_id, kind)


def test_a_slower_training_warns_and_a_restart_of_the_analysis_changes_nothing():
    run_id = a_run()
    for first in range(0, 100, 20):
        log(run_id, first, first + 20, **{"perf/tokens_per_s": speed})
    for first in range(100, 140, 4):
        log(run_id, first, first + 4, **{"perf/tokens_per_s": slow})
    (found,) = findings(run_id, "throughput_drop")
    assert (found.onset_step, found.severity.value) == (100, "warn")
    assert told_of(run_id) == [("throughput_drop", "open")]
    log(run_id, 140, 180, **{"perf/tokens_per_s": speed})
    assert told_of(run_id) == [("throughput_drop", "resolved")]


def test_a_new_attempt_is_measured_by_its_parent():
    run_id = a_run()
    log(run_id, 0, 100, **{"perf/step_time": lambda n: 1 / speed(n)})
    runs.open_attempt(run_id, 1, at(6_000))
    log(run_id, 80, 120, attempt=1, **{"perf/step_time": lambda n: 1 / slow(n)})
    (found,) = findings(run_id, "throughput_drop")
    assert (found.attempt, found.onset_step) == (1, 85)


def test_an_evaluation_that_got_worse_speaks_against_the_checkpoints_after_it():
    run_id = a_run()
    log(run_id, 0, 20, **{"eval/loss": lambda n: 2.4 + 0.6 * 0.7**n})
    log(run_id, 20, 21, **{"eval/loss": lambda n: 2.7})
    (found,) = findings(run_id, "eval_regression")
    assert (found.onset_step, found.severity.value) == (20, "warn")
    for step in (15, 20, 21):
        save(run_id, step, WHOLE)
    (incident,) = store.list_incidents(IncidentQuery(run_id=run_id))
    fault = replace(gather.fault_of(incident, runs.attempts(run_id)), onset_step=1_000)
    ranked = {c.step: [e.text for e in c.reasons] for c in gather.ranking(run_id, fault).candidates}
    against = "evaluated worse before the save: eval/loss 2.4 -> 2.7 at step 20"
    assert [against in ranked[step] for step in (15, 20, 21)] == [False, True, True]


def test_what_was_said_of_a_planned_change_is_information():
    from apps.accounts.records import SYSTEM
    from apps.metrics import planned
    from apps.metrics.domain.planned import PlannedChange

    run_id = a_run()
    log(run_id, 0, 100, **{"perf/tokens_per_s": speed})
    change = PlannedChange("sequence_length", 100, None, "8k", "person")
    planned.add(run_id, change, SYSTEM, at(6_000))
    log(run_id, 100, 140, **{"perf/tokens_per_s": slow})
    (found,) = findings(run_id, "throughput_drop")
    assert (found.severity.value, found.facts["planned"]) == (
        "info",
        "sequence length from step 100: 8k",
    )
    assert told_of(run_id) == []


def test_state_of_another_program_is_begun_anew(caplog):
    from apps.core.sql import execute

    run_id = a_run()
    log(run_id, 0, 50, **{"perf/tokens_per_s": speed})
    execute("UPDATE metrics_detector SET state = 'x' WHERE name = 'watching'")
    log(run_id, 50, 60, **{"perf/tokens_per_s": speed})
    assert "metrics.detector_state_refused" in caplog.text
    assert metrics.detect(run_id, 0, 0) == []


def save(run_id, step, files):
    seen = CheckpointSeen(step, f"/c/{step}", at(2 * step), 5.0, files)
    checkpoints.record(run_id, 0, [seen])


WHOLE = {".metadata": 10, "__0_0.distcp": 100}
TORN = {"__0_0.distcp": 100}


def test_saves_that_fail_are_told_and_the_next_good_one_ends_it():
    run_id = a_run()
    for step in range(100, 600, 100):
        save(run_id, step, WHOLE)
    save(run_id, 600, TORN)
    rows(run_id, 1_260)
    assert watch.look(at(1_261)) == 0
    rows(run_id, 1_264)
    assert watch.look(at(1_276)) == 1
    assert told_of(run_id) == [("save_failed", "open")]
    save(run_id, 700, WHOLE)
    rows(run_id, 1_401)
    assert (watch.look(at(1_402)), watch.look(at(1_417))) == (1, 0)
    assert told_of(run_id) == [("save_failed", "resolved")]


def test_saves_that_do_not_come_warn_first_and_page_later():
    run_id = a_run()
    for step in range(100, 600, 100):
        save(run_id, step, WHOLE)
    rows(run_id, 1_500)
    assert watch.look(at(1_501)) == 1
    (found,) = findings(run_id, "save_late")
    assert (found.severity.value, found.onset_step) == ("warn", 500)
    rows(run_id, 5_000)
    assert watch.look(at(5_001)) == 1
    assert findings(run_id, "save_late")[0].severity.value == "page"
    assert told_of(run_id) == [("save_late", "open")]
