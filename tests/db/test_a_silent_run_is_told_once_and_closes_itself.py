"""ingest.watch: bodies through the real writer, and looks by an injected clock."""

import pytest

from apps.alerts import services as alerts
from apps.core.sql import execute
from apps.incidents import services, store
from apps.incidents.store import IncidentQuery
from apps.ingest import mirrors, watch
from apps.ingest.mirrors import MirrorState
from apps.rollbacks import store as rollbacks
from apps.runs import contact_store, stop_store
from apps.runs import store as runs
from apps.runs.domain.stop import StopState
from apps.runs.records import LaunchSeen, Progress
from apps.runs.services import register_launch
from apps.runs.stop_store import NewStop
from tests.factories import metric_body
from tests.watching import S, a_run, at, has_talked, looks, rows, send, talk, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]


@pytest.fixture
def run():
    """It talked every 15 s until 9:45 min."""
    return has_talked(a_run(), 585)


def finding(run_id):
    (found,) = store.findings_of_kind(run_id, "no_contact")
    return found


def test_a_run_that_falls_silent_pages_once():
    run = a_run()
    assert talk(run, 0, 600) == 0
    assert looks(600, 885) == 0
    assert looks(885, 3_000) == 1
    assert told(run) == [("no_contact", "open")]
    (incident,) = store.list_incidents(IncidentQuery(run_id=run))
    assert incident.page and incident.title == "no contact since 2026-11-29 19:49:45 UTC"
    texts = [e.text for e in finding(run).evidence]
    assert texts[0] == (
        "nothing was received since: its usual gap is 15 s; longer than 5 min is no contact"
    )
    assert "no other run is heard of either: see first whether the server can be reached" in texts


def test_the_first_body_that_comes_ends_it(run):
    looks(600, 1_200)
    rows(run, 1_200)
    assert watch.look(at(1_201)) == 1
    assert told(run) == [("no_contact", "resolved")]
    assert finding(run).closed_time_ns == at(1_200)
    assert finding(run).evidence[-1].text == "heard of again after 10 min"


def test_a_killed_watch_tells_it_at_the_next_look(run, monkeypatch):
    """What is written of it commits together: whatever step dies, nothing is lost or doubled."""
    with monkeypatch.context() as dying:
        dying.setattr(alerts, "plan", lambda *_: (_ for _ in ()).throw(MemoryError))
        assert looks(600, 1_200) == 0
    assert told(run) == []
    with monkeypatch.context() as dying:
        dying.setattr(contact_store, "save_told", lambda *_: (_ for _ in ()).throw(MemoryError))
        assert looks(1_200, 1_215) == 0
    assert told(run) == []
    assert looks(1_215, 1_800) == 1
    assert told(run) == [("no_contact", "open")]


def test_our_own_outage_pages_nobody(run):
    """Nobody looked for an hour, and nothing was written: silence counts from now on."""
    assert looks(4_200, 4_500) == 0
    rows(run, 4_500)
    assert looks(4_501, 4_600) == 0
    assert told(run) == []


def test_what_was_told_stands_through_our_outage(run):
    looks(600, 1_200)
    assert looks(5_000, 5_100) == 0
    assert told(run) == [("no_contact", "open")]


def test_a_watch_that_was_away_alone_is_no_outage(run):
    """Bodies of another run were written meanwhile: whoever is silent is silent."""
    other = has_talked(a_run("other"), 600)
    for seconds in range(700, 1_500, 100):
        rows(other, seconds)
    execute("UPDATE ingest_batch SET written_at = to_timestamp(%s)", [at(1_000) / S])
    assert watch.look(at(1_500)) == 1
    assert told(run) == [("no_contact", "open")]
    texts = [e.text for e in finding(run).evidence]
    assert any(text.endswith("heard of, so the server can be reached") for text in texts)


def test_bodies_that_are_not_written_yet_are_no_silence(run, valkey):
    """The writer is behind since 10:10: nobody knows whose bodies they are."""
    valkey.xadd("{ingest}:stream", {"e": b"x"}, id=f"{at(620) // 1_000_000}-0")
    assert looks(600, 3_000) == 0


def test_a_run_that_has_ended_is_not_missed(run):
    runs.note_progress(run, 0, Progress(exit_code=1), None)
    assert looks(600, 3_000) == 0
    assert contact_store.watched() == []


def test_a_silence_ends_when_the_end_of_the_run_becomes_known(run):
    looks(600, 1_200)
    runs.mark_failed(run, 0, True)
    assert watch.look(at(1_200)) == 1
    assert told(run) == [("no_contact", "resolved")]
    assert finding(run).evidence[-1].text == "it is known by now how the attempt ended"


def test_a_new_attempt_ends_the_silence_of_the_one_before(run, monkeypatch):
    looks(600, 1_200)
    monkeypatch.setattr("apps.runs.services.now_ns", lambda: at(1_200))
    register_launch("boat", LaunchSeen("torchrun:a", "second", at(1_200), resume_step=290))
    assert watch.look(at(1_215)) == 1
    assert told(run) == [("no_contact", "resolved")]
    assert finding(run).evidence[-1].text == "attempt 1 began after 10 min without contact"


def test_somebody_who_resolves_it_is_not_asked_again(run):
    from apps.accounts.records import Actor

    looks(600, 1_200)
    (incident,) = store.list_incidents(IncidentQuery(run_id=run))
    ann = Actor("user", "ann", frozenset())
    services.resolve(run, incident.id, "manual", at(1_200), actor=ann)
    assert looks(1_200, 5_000) == 0
    assert told(run) == [("no_contact", "resolved")]


def test_an_old_incident_of_the_run_swallows_no_silence(run):
    from tests.incident_samples import explosion

    services.absorb(run, 0, [explosion()], at(500))
    looks(600, 1_200)
    assert told(run) == [("explosion", "open"), ("no_contact", "open")]


def test_an_old_run_that_somebody_sends_is_not_missed():
    run_id = a_run("old")
    for seconds in range(0, 600, 15):
        send(run_id, seconds + 90_000, "metrics", metric_body({seconds: 2.0}))
        watch.look(at(seconds + 90_001))
    assert looks(90_600, 100_000) == 0


def test_the_silence_of_a_puller_is_not_the_silence_of_its_run(run):
    from datetime import UTC, datetime

    said = MirrorState(source="https://w", state="running", step=300, behind=0, error="")
    mirrors.note_mirror(run, said, datetime.fromtimestamp(at(610) / S, UTC))
    assert looks(600, 3_000) == 0


def test_one_run_that_cannot_be_told_of_keeps_no_other_from_it(run, monkeypatch):
    other = has_talked(a_run("other"), 600)
    real = services.absorb

    def failing(run_id, *rest):
        if run_id == run:
            raise ValueError("odd data")
        return real(run_id, *rest)

    monkeypatch.setattr(services, "absorb", failing)
    looks(650, 1_800)
    assert (told(run), told(other)) == ([], [("no_contact", "open")])


def test_a_silence_after_a_stop_that_was_delivered_pages_nobody(run):
    asked = NewStop(attempt=0, idempotency_key="k", actor="ann", reason="why", at_ns=at(590))
    stop = stop_store.add(run, asked)
    assert stop_store.save_state(stop, StopState.DELIVERED, at(595))
    assert looks(600, 1_200) == 1
    assert told(run) == []
    assert finding(run).severity.value == "info"


def test_a_rollback_gives_the_job_half_an_hour(run, monkeypatch):
    monkeypatch.setattr(rollbacks, "active_of", lambda ids: dict.fromkeys(ids))
    assert looks(600, 585 + 1_790) == 0
    assert looks(585 + 1_810, 585 + 1_850) == 1


def test_a_run_that_is_heard_of_during_the_look_is_not_silent(run, monkeypatch):
    real = runs.lock_run

    def lock(run_id):
        contact_store.note(run_id, at(1_199))
        real(run_id)

    looks(600, 850)
    monkeypatch.setattr(runs, "lock_run", lock)
    assert watch.look(at(900)) == 0
    assert told(run) == []


def test_a_look_costs_a_fixed_number_of_statements(run, django_assert_num_queries):
    others = [a_run(f"other{n}") for n in range(20)]
    for run_id in others:
        rows(run_id, 600)
    watch.look(at(601))
    for run_id in others:
        rows(run_id, 610)
    with django_assert_num_queries(12):
        watch.look(at(616))
