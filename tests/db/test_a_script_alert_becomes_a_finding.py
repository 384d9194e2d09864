"""run.alert() from the stream to incident and mail: by severity, once, in nobody's way."""

import pytest

from apps.alerts import store as alert_store
from apps.alerts.domain.message import Kind
from apps.incidents import services as incident_services
from apps.incidents import store as incidents
from apps.incidents.store import IncidentQuery
from apps.ingest import store
from apps.ingest.digest import digest
from apps.ingest.wandb import alerts
from apps.runs import store as runs
from tests import factories
from tests.incident_samples import PAGE, at, explosion, finding


@pytest.fixture
def run(db):
    run_id = runs.ensure_run("r")
    runs.open_attempt(run_id, 0, at(0))
    return run_id


@pytest.fixture
def say(run):
    def said(severity="ERROR", title="odd", text="look at it", seconds=0, batch=None):
        body = alerts.packed(
            {"title": title, "text": text, "severity": severity, "waitDuration": 60_000}
        )
        envelope = factories.envelope(
            alerts.ENDPOINT, body, run_id=run, batch=batch or f"{severity}{seconds}"
        )
        from msgspec.structs import replace

        return digest([replace(envelope, attempt=0, received_ns=at(1000 + seconds))])

    return said


def open_and_closed(run):
    found = incidents.list_incidents(IncidentQuery(run_id=run))
    return [(i.title, i.page, i.state) for i in found]


def openings(run):
    found = incidents.list_incidents(IncidentQuery(run_id=run))
    planned = alert_store.messages([(run, i.id) for i in found])
    return sum(
        m.kind is Kind.OPENING
        for people in planned.values()
        for messages in people.values()
        for m in messages
    )


def test_information_is_a_finding_and_opens_nothing(run, say):
    say("INFO")
    assert open_and_closed(run) == []
    assert [f.title for f in incidents.findings(run)] == ["Script alert: odd"]


def test_a_warning_is_an_incident_that_pages_nobody(run, say):
    say("WARN")
    assert open_and_closed(run) == [("Script alert: odd", False, "resolved")]
    assert openings(run) == 0


def test_an_error_pages_in_the_words_of_the_script(run, say):
    say("ERROR")
    assert open_and_closed(run) == [("Script alert: odd", True, "open")]
    assert openings(run) == 1


@pytest.mark.parametrize("batch", ["same-delivery", None])
def test_a_redelivery_or_a_retry_is_heard_once(run, say, batch):
    [say("ERROR", seconds=n, batch=batch) for n in range(2)]
    assert (len(open_and_closed(run)), len(incidents.findings(run))) == (1, 1)
    counters = store.counters(run)
    assert counters.get("duplicate_batches", 0) + counters.get("repeated_alerts", 0) == 1


def test_an_open_alert_neither_hides_nor_delays_the_page_of_a_detector(run, say):
    say("ERROR")
    incident_services.absorb(run, 0, [explosion()], at(1002))
    say("ERROR", title="still odd", seconds=300)
    kinds = [i.kind for i in incidents.list_incidents(IncidentQuery(run_id=run))]
    assert kinds == ["script_alert", "explosion", "script_alert"]


def test_a_detector_dates_its_incident_itself(run, say):
    say("ERROR")
    incident_services.absorb(run, 0, [finding("late", "explosion", 5_000, PAGE)], at(5_002))
    newest = incidents.list_incidents(IncidentQuery(run_id=run))[0]
    assert (newest.kind, newest.onset_step, newest.state) == ("explosion", 5_000, "open")


def test_what_is_said_is_bounded_and_storable(run, say):
    say("ERROR", title="t" * 9_999, text="\0" * 9_999)
    (found,) = incidents.findings(run)
    assert (len(found.facts["title"]), len(found.facts["text"])) == (300, 4_000)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"title":1}', b"null"])
def test_what_is_no_alert_is_kept_aside(run, body):
    done = digest([factories.envelope(alerts.ENDPOINT, body, run_id=run, batch="x")])
    assert done.quarantined == 1
