"""A silent run on its pages and in the API: since when, and what is usual."""

import orjson
import pytest
from django.utils import timezone

from apps.core.clock import now_ns
from apps.core.sql import execute
from apps.incidents import store as store_of
from apps.ingest import watch
from apps.runs import contact_store, store
from apps.runs.domain.contact import WatchClock
from apps.runs.records import Progress

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]
MIN = 60_000_000_000


@pytest.fixture
def run():
    """It talked every 20 s until 12 minutes ago."""
    run_id = store.ensure_run("boat")
    store.open_attempt(run_id, 0, now_ns() - 60 * MIN)
    store.note_progress(run_id, 0, Progress(1, 500, now_ns() - 12 * MIN), timezone.now())
    execute(
        "UPDATE runs_contact SET heard_ns = %s, limit_s = 300, usual_s = 20", [now_ns() - 12 * MIN]
    )
    return run_id


def test_the_list_and_the_deck_say_since_when(run, reader):
    for page in ("/", "/runs/boat/"):
        text = reader.get(page).content.decode()
        assert "o contact since" in text and "12 min ago" in text, page
        assert "usual gap" in text and "20 s" in text, page


def test_the_api_says_what_is_usual(run, client, token):
    headers = {"Authorization": f"Bearer {token}"}
    said = client.get("/api/v1/runs/boat", headers=headers).json()
    assert (said["state"], said["silence_s"], said["usual_gap_s"]) == ("no_contact", 300, 20)


def test_a_writer_that_is_behind_is_said_instead(run, reader):
    """Nothing that arrived in the last 20 minutes is written yet."""
    moment = now_ns()
    contact_store.save_look(moment, WatchClock(moment - 20 * MIN))
    text = reader.get("/runs/boat/").content.decode()
    assert "Lastgood is 20 min behind with writing" in text
    assert "No contact since" not in text


def test_the_incident_says_it_too(run, reader):
    contact_store.save_look(now_ns() - MIN // 4, WatchClock(now_ns()))
    gaps = orjson.dumps({"gaps": [20.0] * 11}).decode()
    execute("UPDATE runs_contact SET rhythm = %s", [gaps])
    execute("UPDATE runs_attempt SET last_row_ns = last_ns")
    assert watch.look(now_ns()) == 1
    (incident,) = store_of.list_incidents(store_of.IncidentQuery(run_id=run))
    text = reader.get(f"/incidents/{incident.id}/").content.decode()
    assert "A silence has no curve" in text
    assert "usual gap 20 s" in text
