"""ingest.services.requeue and `manage.py requeue`"""

import pytest
from django.core.management import CommandError, call_command

from apps.accounts import store as accounts
from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import Forbidden
from apps.core.errors import AppError
from apps.ingest import digest as digesting
from apps.ingest import services, store
from apps.ingest.digest import digest
from apps.ingest.envelope import pack
from apps.ingest.poison import park
from apps.ingest.stream import Entry
from apps.runs.store import ensure_run
from tests.factories import envelope, metric_body

BODY = metric_body({1: 2.5})


@pytest.fixture
def run_id(db):
    return ensure_run("r")


@pytest.fixture
def kept(run_id, monkeypatch):
    """The id of a body that a fault of the parser kept out; the fault is fixed."""
    with monkeypatch.context() as fault:
        fault.setattr(digesting, "parse_metrics", None)
        digest([envelope("metrics", BODY, run_id=run_id, batch="b-1")])
    return store.quarantined(1)[0].id


def test_after_the_fix_it_is_written_and_leaves(kept, run_id):
    done = services.requeue(kept, actor=SYSTEM)
    assert (done.written, done.touched) == (1, {(run_id, "r", 0)})
    assert store.quarantined(1) == []
    assert (store.counters(run_id)["points"], store.analyses_of([run_id])[run_id].behind) == (1, 1)


def test_pages_hear_of_it_once_it_is_stored(kept, monkeypatch, django_capture_on_commit_callbacks):
    told = []
    monkeypatch.setattr("apps.core.live.publish", lambda run, **said: told.append((run, said)))
    with django_capture_on_commit_callbacks() as when_stored:
        services.requeue(kept, actor=SYSTEM)
    assert told == []
    [tell() for tell in when_stored]
    assert [run for run, _ in told] == ["r"]


def test_the_audit_trail_has_who_what_and_why(kept, run_id):
    services.requeue(kept, actor=SYSTEM, reason="fixed")
    (line,) = accounts.audit_rows(10)
    assert (line.actor, line.action, line.reason) == (
        "system:lastgood",
        "quarantine.requeued",
        "fixed",
    )
    assert (line.object, line.before["batch"]) == (f"quarantine {kept}", "b-1")


def test_one_that_was_sent_again_meanwhile_counts_once(kept, run_id):
    digest([envelope("metrics", BODY, run_id=run_id, batch="b-1")])
    assert services.requeue(kept, actor=SYSTEM).duplicates == 1
    assert (store.counters(run_id)["points"], store.quarantined(1)) == (1, [])


def test_one_that_is_still_faulty_stays(run_id):
    digest([envelope("metrics", b"garbage", run_id=run_id)])
    (entry,) = store.quarantined(1)
    with pytest.raises(AppError, match="not JSON"):
        services.requeue(entry.id, actor=SYSTEM)
    assert store.quarantined(1) == [entry]
    assert accounts.audit_rows(10) == []


def test_an_entry_that_could_not_even_be_opened_is_opened_now(run_id):
    sent = envelope("metrics", BODY, run_id=run_id)
    park(Entry("1-0", pack(sent)), AppError("unknown layout"))
    assert services.requeue(store.quarantined(1)[0].id, actor=SYSTEM).written == 1


def test_it_needs_the_scope_operate(kept):
    with pytest.raises(Forbidden):
        services.requeue(kept, actor=Actor("user", "eve", frozenset({"read", "ingest"})))


def test_the_command_tells_each_ones_fate(kept, run_id, capsys):
    with pytest.raises(CommandError, match="1 of 2 stay in quarantine"):
        call_command("requeue", kept, kept + 1, reason="fixed")
    said = capsys.readouterr()
    assert said.out == f"{kept}: written\n"
    assert said.err.startswith(f"{kept + 1}: quarantine {kept + 1}: there is no such entry")
