"""Numbered records of a `.wandb` file: once each, however it is cut; what is lost is counted."""

import pytest

from apps.incidents import store as incidents
from apps.ingest import store
from apps.ingest.digest import digest
from apps.ingest.wandb import alerts
from apps.ingest.wandb.descriptor import MESSAGES
from apps.metrics.store import read_rows
from apps.runs import store as runs
from tests.factories import T0_NS, envelope
from tests.wandb_records import body, history, record

RECORDS = [
    history({"_step": n, "_timestamp": T0_NS / 1e9 + n, "loss": float(n)}) for n in range(10)
]


@pytest.fixture
def run(db):
    run_id = runs.ensure_run("r")
    runs.open_attempt(run_id, 0, T0_NS)
    return run_id


def send(run, first, records, **header):
    data = body(records, first_record=first, **header)
    return digest([envelope("wandb", data, run_id=run, batch=f"{first}-{len(records)}")])


def steps(run):
    return read_rows(run, 0, ["loss"], 0, 1000)["loss"][0].tolist()


def test_a_file_that_is_sent_again_cut_at_other_places_adds_nothing(run):
    send(run, 0, RECORDS[:4])
    send(run, 4, RECORDS[4:])
    send(run, 0, RECORDS[:7])
    send(run, 7, RECORDS[7:])
    assert steps(run) == list(range(10))
    assert store.counters(run)["repeated_records"] == 10


def test_records_that_overtook_others_leave_a_gap_until_these_come(run):
    send(run, 6, RECORDS[6:])
    assert store.counters(run)["missing_records"] == 6
    send(run, 0, RECORDS[:6])
    assert sorted(steps(run)) == list(range(10))
    assert store.counters(run)["missing_records"] == 0


def test_another_file_under_the_same_name_is_not_taken_for_a_repeat(run):
    send(run, 0, RECORDS[:4])
    assert send(run, 0, RECORDS[5:]).quarantined == 1
    assert steps(run) == [0, 1, 2, 3]


def test_damaged_places_are_counted(run):
    send(run, 0, RECORDS[:4], damaged=2)
    send(run, 4, [], damaged=1)
    assert store.counters(run)["damaged_places"] == 3


def test_alerts_and_notices_in_the_file_are_not_lost(run):
    alert = MESSAGES["Alert"](title=b"odd loss", text=b"look", level=b"ERROR", wait_ms=60_000)
    send(run, 0, [RECORDS[5], record(10, alert), record(23, b""), record(8, b"\x0a\x01x")])
    assert [f.title for f in incidents.findings(run)] == ["Script alert: odd loss"]
    counters = store.counters(run)
    assert (counters["wandb_alerts"], counters["preemption_notices"]) == (1, 1)
    assert counters["skipped: artifact"] == 1


def alert(title, text=b"look", level=b"WARN"):
    return record(10, MESSAGES["Alert"](title=title, text=text, level=level, wait_ms=60_000))


def test_a_long_alert_that_was_heard_live_is_known(run):
    title, text = "odd " * 200, "look " * 2_000
    body = alerts.packed({"title": title, "text": text, "severity": "WARN"})
    digest([envelope(alerts.ENDPOINT, body, run_id=run, batch="live")])
    send(run, 0, [alert(title.encode(), text.encode())])
    assert store.counters(run)["repeated_alerts"] == 1


def test_very_many_alerts_cost_no_more_statements(run, django_assert_max_num_queries):
    send(run, 0, [alert(b"first")])
    with django_assert_max_num_queries(60):
        send(run, 1, [alert(b"odd", b"at %d" % n) for n in range(1_200)])
    counters = store.counters(run)
    assert (counters["wandb_alerts"], counters["alerts_not_kept"]) == (1_201, 201)
